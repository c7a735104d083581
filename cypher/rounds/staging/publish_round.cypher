// name: rounds/staging/publish_round
// purpose: publish a round: everything staged under its number becomes visible; the properties edges and messages say how many of the round are stored
// parameters: number, boundary, sequence, changed, touched, edges_opened, edges_closed, reached
CREATE (:Round {number: $number, boundary: $boundary, sequence: $sequence, changed: $changed, touched: $touched,
                edges_opened: $edges_opened, edges_closed: $edges_closed, reached: $reached,
                edges: $edges_opened, messages: $touched})
