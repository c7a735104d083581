// name: rounds/staging/publish_round
// purpose: a round is published: everything staged under its number can be seen
// parameters: number, boundary, sequence, changed, touched, edges_opened, edges_closed, reached
CREATE (:Round {number: $number, boundary: $boundary, sequence: $sequence, changed: $changed, touched: $touched,
                edges_opened: $edges_opened, edges_closed: $edges_closed, reached: $reached})
