/**
 * Entry point of the threads in which prompts are counted and the offline text model plans its answers: takes one job
 * at a time. Found by path from text-threads.ts, which terminates the thread if a job does not finish.
 */
import { createPlanner } from '@darkroom/offline-text/answer-plan';
import { SchemaTooComplexError } from '@darkroom/offline-text/schema-reader';
import { countEach } from '../tokens.ts';
import type { TextJob, TextJobAnswer } from './text-threads.ts';

/** Executes one job; called by the thread. */
export default async function doTextJob(job: TextJob): Promise<TextJobAnswer> {
  try {
    switch (job.kind) {
      case 'start':
        return { kind: 'started' };
      case 'count':
        return { kind: 'counted', tokens: await countEach(job.requests, job.limit) };
      case 'plan': {
        const plan = await createPlanner(job.request, job.maxTokens);
        return { kind: 'planned', plans: job.seeds.map((seed) => plan(seed)) };
      }
    }
  } catch (error) {
    if (error instanceof SchemaTooComplexError) return { kind: 'too_complex' };
    // Its name and position, and not its message: that may contain words of the request.
    return { kind: 'failed', message: error instanceof Error ? `${error.name} ${stackTopOf(error)}` : 'no error' };
  }
}

function stackTopOf({ stack = '' }: Error): string {
  return (
    stack
      .split('\n')
      .find((line) => line.startsWith('    at '))
      ?.trim() ?? 'at an unknown position'
  );
}
