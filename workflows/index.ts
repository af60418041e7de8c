/**
 * The entry point of the workflow bundle: every workflow that a worker runs, under the name by which Temporal knows
 * it.
 */
export { deliverCallback } from './deliver-callback.ts';
export { maintain } from './maintain.ts';
export { mediaTask } from './media-task.ts';
export { meterStorage, promoteOutput, stopGeneration, sweepObjects } from './small-workflows.ts';
