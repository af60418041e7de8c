/** BullMQ: a job added by a client and processed by a worker, through one Redis. */
import { Queue, QueueEvents, Worker } from 'bullmq';

const QUEUE = 'jobs';

/** @param {{ redisPort: number, concurrency: number }} options */
export async function work({ redisPort, concurrency }, execute) {
  const connection = { host: '127.0.0.1', port: redisPort };
  const worker = new Worker(QUEUE, async ({ data }) => execute(data.id), { connection, concurrency });
  await worker.waitUntilReady();
  return () => worker.close();
}

export async function connect({ redisPort }) {
  const connection = { host: '127.0.0.1', port: redisPort };
  const queue = new Queue(QUEUE, { connection });
  const events = new QueueEvents(QUEUE, { connection });
  events.setMaxListeners(0);
  await events.waitUntilReady();
  return {
    submit: (id) => queue.add('job', { id }, { jobId: id }),
    result: (job) => job.waitUntilFinished(events),
    async close() {
      await events.close();
      await queue.close();
    },
  };
}
