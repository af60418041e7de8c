/**
 * Simulates a Cog container, as documented on its "HTTP API" page: `PUT /predictions/{id}`, which waits for the end
 * and is idempotent while the prediction runs, and stops it when the caller has gone. test/wide runs against a real
 * one.
 */
import { readBehaviour } from './behaviour.ts';
import { drawImage } from './image.ts';
import { answerSubmit, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const ONE = /^\/predictions\/([\w-]+)(\/cancel)?$/;

const wording: Wording = {
  error: (status, _kind, prompt) => ({
    status,
    json: { detail: [{ loc: ['body', 'input'], msg: 'The text of this provider, not to be passed on' }] },
    headers: rejectionHeaders(status, prompt),
  }),
};

/** Answers one request below `/cog/v1`. */
export async function handleCog(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body } = incoming;
  const [, id, cancel] = ONE.exec(path) ?? [];
  if (id === undefined) return wording.error(404, 'other');
  const known = room.jobs.findByKey(id);
  const isRunning = known?.state === 'running';
  if (method === 'POST' && cancel !== undefined) {
    if (!isRunning) return { status: 404, json: {} };
    room.log({ protocol: 'cog', kind: 'cancel', jobId: known.id, prompt: known.prompt, idempotencyKey: id });
    known.cancel();
    return { status: 200, json: {} };
  }
  if (method !== 'PUT' || cancel !== undefined) return wording.error(405, 'other');
  const prompt = textOf(body['input'], 'prompt');
  if (isRunning) {
    room.log({ protocol: 'cog', kind: 'replay', jobId: known.id, prompt, idempotencyKey: id });
    return { status: 202, json: { id, status: 'processing', input: {}, logs: '', metrics: {} } };
  }
  return predict(room, incoming, id, prompt);
}

async function predict(room: Room, { abandoned, body }: Incoming, id: string, prompt: string): Promise<Reply> {
  const behaviour = readBehaviour(prompt);
  const reject = (status: number): Reply => {
    room.log({ protocol: 'cog', kind: 'rejected', prompt, status, idempotencyKey: id });
    return wording.error(status, 'other', prompt);
  };
  if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
  if (room.jobs.isStillRejected('cog', prompt)) return reject(503);

  const fields = body['input'] as Readonly<Record<string, unknown>>;
  const job = room.jobs.create('cog', prompt, { idempotencyKey: id, fields });
  void abandoned.then(() => job.cancel());
  const early = await answerSubmit(job, { status: 200, json: null }, wording);
  if (typeof early === 'string' || !('json' in early) || early.json !== null) return early;
  await job.ended;
  const common = { id, logs: '', metrics: { predict_time: 0.1 } };
  if (job.state === 'cancelled') return { status: 200, json: { ...common, status: 'canceled' } };
  const error = behaviour.isContentRejected
    ? 'Exception: NSFW content detected'
    : 'CUDA out of memory at /src/predict.py';
  if (behaviour.isFailing || behaviour.isContentRejected) {
    return { status: 200, json: { ...common, status: 'failed', error } };
  }
  const output = [`data:image/png;base64,${(await drawImage(prompt)).toString('base64')}`];
  return { status: 200, json: { ...common, status: 'succeeded', output: behaviour.hasNoOutput ? null : output } };
}
