// name: learn/epochs/create_epoch
// purpose: open an epoch: its router set becomes the current one
// parameters: number, sequence, session_k, taste_k, tau, embedder, era
CREATE (:Epoch {number: $number, sequence: $sequence, session_k: $session_k, taste_k: $taste_k, tau: $tau, embedder: $embedder, era: $era})
