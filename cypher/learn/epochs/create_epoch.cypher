// name: learn/epochs/create_epoch
// purpose: a router set goes live
// parameters: number, sequence, session_k, taste_k, tau, embedder, era
CREATE (:Epoch {number: $number, sequence: $sequence, session_k: $session_k, taste_k: $taste_k, tau: $tau, embedder: $embedder, era: $era})
