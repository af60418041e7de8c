/** A thread whose jobs end, never end, or end the thread: for timed-thread.test.ts. */
export type LoopingJob = 'answer' | 'loop' | 'die';

export default function doJob(job: LoopingJob): string {
  while (job === 'loop') Math.random();
  if (job === 'die') process.exit(1);
  return 'answered';
}
