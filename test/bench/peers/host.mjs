/**
 * Runs one side of a peer in a process: its worker, or the clients that load it. In JavaScript, and copied beside the
 * packages of the peers, because these are no dependencies of Darkroom.
 *
 * Usage: host.mjs <file of the peer> <worker|clients> <options as JSON>
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';

const [file, role, options] = process.argv.slice(2);
const peer = await import(new URL(file, import.meta.url).href);
const settings = JSON.parse(options);

/** Each execution is a line, written before the job can end: what was executed is known whatever is killed. */
const execute = (id) => appendFileSync(settings.executionsFile, `${Date.now()} ${id}\n`);

if (role === 'worker') {
  const stop = await peer.work(settings, execute);
  process.once('SIGTERM', () => void stop().then(() => process.exit(0)));
} else {
  const client = await peer.connect(settings);
  const orders = { accept, finish, burst };
  process.on('message', ({ kind, ...order }) => {
    orders[kind](client, order).then(
      (result) => process.send({ result }),
      (error) => process.send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}
process.once('disconnect', () => process.exit(0));
process.send('ready');

/** Clients that submit one job after the other. */
async function accept(client, { clients, seconds }) {
  return timed(clients, seconds, () => client.submit(randomUUID()));
}

/** Clients that submit a job and wait for its result before the next one. */
async function finish(client, { clients, seconds }) {
  return timed(clients, seconds, async () => client.result(await client.submit(randomUUID())));
}

async function timed(clients, seconds, operation) {
  const latenciesMs = [];
  const begun = performance.now();
  const end = begun + seconds * 1000;
  const run = async () => {
    do {
      const started = performance.now();
      await operation();
      latenciesMs.push(performance.now() - started);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: clients }, run));
  return { latenciesMs, perSecond: (latenciesMs.length * 1000) / (performance.now() - begun) };
}

/**
 * Submits a number of jobs and waits for all of them, until there is no result for `silenceSeconds`. Reports once that
 * `reportAfter` of them have their result.
 */
async function burst(client, { clients, jobs, reportAfter, silenceSeconds }) {
  const ids = Array.from({ length: jobs }, () => randomUUID());
  const accepted = [];
  const unfinished = new Set(ids);
  let next = 0;
  let lastAt = 0;
  let isSubmitted = false;
  const submit = async () => {
    for (let index = next++; index < jobs; index = next++) {
      accepted.push({ id: ids[index], submitted: await client.submit(ids[index]) });
    }
  };
  const wait = async () => {
    for (;;) {
      const job = accepted.shift();
      if (job === undefined && isSubmitted) return;
      if (job === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      await client.result(job.submitted);
      unfinished.delete(job.id);
      lastAt = Date.now();
      if (jobs - unfinished.size === reportAfter) process.send({ reached: reportAfter });
    }
  };
  const waiting = Promise.all(Array.from({ length: clients }, wait));
  await Promise.all(Array.from({ length: clients }, submit));
  isSubmitted = true;
  lastAt = Math.max(lastAt, Date.now());
  let watch;
  const silence = new Promise((resolve) => {
    watch = setInterval(() => Date.now() - lastAt > silenceSeconds * 1000 && resolve(), 1000);
  });
  await Promise.race([waiting, silence]);
  clearInterval(watch);
  return { ids, unfinished: [...unfinished], lastAt };
}
