/** The door of the workflow bundle: every workflow that a worker runs, by the name Temporal knows it by. */
export { deliverCallback } from './deliver-callback.ts';
export { mediaTask } from './media-task.ts';
export { reconcile } from './reconcile.ts';
