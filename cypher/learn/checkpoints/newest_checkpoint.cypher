// name: learn/checkpoints/newest_checkpoint
// purpose: the newest complete checkpoint, or the newest barrier
// parameters: barrier
MATCH (c:Checkpoint)
WHERE c.id > 0 AND c.complete AND (c.barrier OR NOT $barrier)
RETURN c.id, c.sequence, c.epoch, c.barrier ORDER BY c.id DESC LIMIT 1
