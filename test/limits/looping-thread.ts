/** A thread whose jobs end, never end, or end the thread: for timed-threads.test.ts. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export type LoopingJob = 'answer' | 'loop' | 'die' | 'require' | 'fill';

export default function doJob(job: LoopingJob): string {
  while (job === 'loop') Math.random();
  const kept: number[][] = [];
  while (job === 'fill') kept.push(Array.from({ length: 10_000 }, Math.random));
  if (job === 'die') process.exit(1);
  return job === 'require' ? requireItself() : 'answered';
}

/** @returns the code of the error; 'required' if there is none. */
function requireItself(): string {
  try {
    createRequire(import.meta.url)(fileURLToPath(import.meta.url));
    return 'required';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}
