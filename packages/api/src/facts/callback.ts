/** The delivery of a callback. */

/** The state of a delivery. `waiting`: the task has not ended yet. */
export type CallbackState = 'waiting' | 'pending' | 'delivered' | 'exhausted' | 'stopped';
