/**
 * Simulates fal's queue, as documented on its "Inference API" pages: a request is submitted under a model's whole id,
 * and polled, fetched and cancelled under the first two parts of it. No idempotency keys.
 */
import { readBehaviour } from './behaviour.ts';
import type { Job } from './jobs.ts';
import { answerSubmit, OTHER_TYPES, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const ONE = /^(\/[\w-]+\/[\w-]+)\/requests\/([\w-]+)(?:\/(status|cancel))?$/;
const TEXT = 'The text of this provider, which no one may pass on.';

const wording: Wording = {
  error(status, kind, prompt) {
    const detail = kind === 'content' ? [{ loc: ['body'], msg: TEXT, type: 'content_policy_violation' }] : TEXT;
    return { status, json: { detail }, headers: rejectionHeaders(status, prompt) };
  },
};

/** Answers one request below `/fal/v1`. */
export async function handleFal(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body, query } = incoming;
  const one = ONE.exec(path);
  if (one !== null) return oneRequest(room, method, { id: one[2] ?? '', what: one[3] });
  if (method !== 'POST') return wording.error(405, 'other');

  const prompt = textOf(body, 'prompt');
  const behaviour = readBehaviour(prompt);
  const reject = (status: number): Reply => {
    room.log({ protocol: 'fal', kind: 'rejected', prompt, status });
    return wording.error(status, 'other', prompt);
  };
  if (!path.startsWith('/test/')) return reject(404);
  if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
  if (room.jobs.isStillRejected('fal', prompt)) return reject(503);
  const hookUrl = query.get('fal_webhook');
  const job = room.jobs.create('fal', prompt, { fields: body, ...(hookUrl === null ? {} : { hookUrl }) });
  return answerSubmit(
    job,
    { status: 200, json: { status: 'IN_QUEUE', request_id: job.id, queue_position: 0 } },
    wording,
  );
}

function oneRequest(room: Room, method: string, { id, what }: { id: string; what: string | undefined }): Reply {
  const job = room.jobs.find('fal', id);
  if (job === undefined || job.state === 'cancelled') return wording.error(404, 'other');
  const identity = { protocol: 'fal', jobId: job.id, prompt: job.prompt } as const;
  if (method === 'PUT' && what === 'cancel') {
    room.log({ kind: 'cancel', ...identity });
    if (job.state === 'done') return { status: 400, json: { status: 'ALREADY_COMPLETED' } };
    job.cancel();
    return { status: 202, json: { status: 'CANCELLATION_REQUESTED' } };
  }
  if (method !== 'GET') return wording.error(405, 'other');
  if (what === undefined) return result(room, job);
  room.log({ kind: 'poll', ...identity });
  if (job.pollFailuresLeft-- > 0) return wording.error(500, 'other');
  if (job.behaviour.answersPollsWithHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (job.behaviour.answersPollsWithOtherTypes) return { status: 200, json: OTHER_TYPES };
  if (job.state === 'running') return { status: 202, json: { status: 'IN_PROGRESS', request_id: job.id } };
  return { status: 200, json: { status: 'COMPLETED', request_id: job.id, metrics: { inference_time: 0.1 } } };
}

function result(room: Room, job: Job): Reply {
  if (job.behaviour.isContentRejected) return wording.error(422, 'content');
  if (job.behaviour.isFailing) return { status: 500, json: { detail: 'CUDA out of memory at /src/predict.py' } };
  const image = { url: room.fileUrl(job), width: 64, height: 64, content_type: 'image/png' };
  return { status: 200, json: { images: job.behaviour.hasNoOutput ? [] : [image], seed: 7 } };
}
