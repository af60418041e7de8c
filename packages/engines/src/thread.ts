/**
 * Entry point of one thread of the engine pool: takes a job, finds its engine, renders. `engine-pool.ts` finds this
 * file by its path.
 */
import type { MessagePort } from 'node:worker_threads';
import { lowerThreadPriority } from '@darkroom/media/process-priority';
import { endMediaChildren } from '@darkroom/media/media-child';
import { createPausePoint } from './pause-control.ts';
import { ENGINES, UnknownEngineError } from './registry.ts';
import { UnusableInputError } from './unusable-input-error.ts';
import { UndecodableMediaError } from './engine.ts';
import type { EngineJob, ThreadResult } from './engine.ts';

lowerThreadPriority();

/** The shortest interval between progress reports, in milliseconds: more would not be seen. */
const PROGRESS_EVERY_MS = 250;

/** The seed that the caller named, else the one derived from the task. */
function seedOf(job: EngineJob): number {
  const { seed } = job.input;
  return typeof seed === 'number' && Number.isSafeInteger(seed) && seed >= 0 ? seed : job.fallbackSeed;
}

/** Renders one job; piscina calls it with the arguments of `EnginePool.render` and a port for the progress. */
export default async function renderJob({
  job,
  progressPort,
  pause,
}: {
  readonly job: EngineJob;
  readonly progressPort: MessagePort;
  readonly pause: Int32Array;
}): Promise<ThreadResult> {
  const engine = ENGINES.get(job.engine);
  if (engine === undefined) throw new UnknownEngineError(job.engine);
  let reportedAt = 0;
  const progress = (fraction: number): void => {
    const now = Date.now();
    if (now - reportedAt < PROGRESS_EVERY_MS) return;
    reportedAt = now;
    progressPort.postMessage(Math.min(Math.max(fraction, 0), 1));
  };
  // The pool terminates this thread as soon as it receives the message.
  progressPort.once('message', () => {
    void endMediaChildren().finally(() => progressPort.postMessage('stopped'));
  });
  try {
    const { input, media, scratch } = job;
    const pausePoint = createPausePoint(pause, () => progressPort.postMessage('paused'));
    const work = { input, seed: seedOf(job), media, scratch, progress, pausePoint };
    return { kind: 'rendered', files: await engine(work) };
  } catch (error) {
    if (!(error instanceof UndecodableMediaError || error instanceof UnusableInputError)) throw error;
    return { kind: 'unusable_input', problem: error.message, fault: error.fault };
  } finally {
    progressPort.close();
  }
}
