/**
 * Entry of one thread of the engine pool: takes a job, finds its engine, renders. Found by path from `engine-pool.ts`.
 */
import { ENGINES, UnknownEngineError } from './registry.ts';
import { UndecodableMediaError } from './engine.ts';
import type { EngineJob, ThreadAnswer } from './engine.ts';

/** The seed that the caller named, else the one derived from the task. */
function seedOf(job: EngineJob): number {
  const { seed } = job.input;
  return typeof seed === 'number' && Number.isSafeInteger(seed) && seed >= 0 ? seed : job.fallbackSeed;
}

/** Renders one job; piscina calls it with what `EnginePool.render` was given. */
export default async function renderJob(job: EngineJob): Promise<ThreadAnswer> {
  const engine = ENGINES.get(job.engine);
  if (engine === undefined) throw new UnknownEngineError(job.engine);
  try {
    return { kind: 'rendered', files: await engine(job.input, seedOf(job), job.media) };
  } catch (error) {
    if (!(error instanceof UndecodableMediaError)) throw error;
    return { kind: 'unusable_input', problem: error.message };
  }
}
