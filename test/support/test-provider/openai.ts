/**
 * Simulates the interfaces in OpenAI's form, as specified in the openai-openapi document: images and speech, which
 * are synchronous, and videos, which are jobs. No idempotency keys.
 */
import { readBehaviour } from './behaviour.ts';
import type { Job } from './jobs.ts';
import { drawImage } from './image.ts';
import { answerSubmit, OTHER_TYPES, rejectionHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';
import { drawAudio } from './audio.ts';

const ONE_VIDEO = /^\/videos\/([\w-]+)(\/content)?$/;

const wording: Wording = {
  error(status, kind, prompt) {
    const codes = { content: 'moderation_blocked', model: 'model_not_found', other: null };
    const type = kind === 'content' ? 'image_generation_user_error' : 'invalid_request_error';
    const message = 'The text of this provider, which no one may pass on.';
    return {
      status,
      json: { error: { code: codes[kind], message, param: null, type } },
      headers: rejectionHeaders(status, prompt),
    };
  },
};

/** Answers one request below `/openai/v1`. */
export async function handleOpenAi(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body } = incoming;
  if (method !== 'POST') return oneVideo(room, incoming);
  switch (path) {
    case '/images/generations':
      return answer(room, incoming, textOf(body, 'prompt'), imageOf);
    case '/images/edits':
      if (incoming.files.length === 0) return wording.error(400, 'other');
      return answer(room, incoming, textOf(body, 'prompt'), imageOf);
    case '/audio/speech':
      return answer(room, incoming, textOf(body, 'input'), speechOf);
    case '/videos':
      return accept(room, incoming, textOf(body, 'prompt'), async (job) =>
        answerSubmit(job, { status: 200, json: { ...video(job), status: 'queued' } }, wording),
      );
    default:
      return wording.error(404, 'other');
  }
}

/** Accepts or rejects work. @param proceed with the accepted work. */
async function accept(
  room: Room,
  { body, files }: Incoming,
  prompt: string,
  proceed: (job: Job) => Promise<Reply>,
): Promise<Reply> {
  const behaviour = readBehaviour(prompt);
  const reject = (status: number, kind: 'content' | 'model' | 'other' = 'other'): Reply => {
    room.log({ protocol: 'openai', kind: 'rejected', prompt, status });
    return wording.error(status, kind, prompt);
  };
  if (textOf(body, 'model') === 'missing-model') return reject(404, 'model');
  if (behaviour.rejectStatus > 0) return reject(behaviour.rejectStatus);
  if (room.jobs.isStillRejected('openai', prompt)) return reject(503);
  if (behaviour.isContentRejected) return reject(400, 'content');
  const received = files.map(({ field, mimeType, bytes }) => `${field} ${mimeType} ${bytes.length}`);
  return proceed(room.jobs.create('openai', prompt, { fields: body, ...(received.length === 0 ? {} : { received }) }));
}

async function answer(
  room: Room,
  incoming: Incoming,
  prompt: string,
  resultOf: (room: Room, incoming: Incoming, job: Job) => Promise<Reply>,
): Promise<Reply> {
  return accept(room, incoming, prompt, async (job) => {
    const early = await answerSubmit(job, { status: 200, json: null }, wording);
    if (typeof early === 'string' || !('json' in early) || early.json !== null) return early;
    void incoming.abandoned.then(() => {
      if (job.state === 'running') room.log({ protocol: 'openai', kind: 'left', jobId: job.id, prompt });
    });
    await job.ended;
    return job.behaviour.isFailing ? wording.error(500, 'other') : resultOf(room, incoming, job);
  });
}

async function imageOf(room: Room, { body }: Incoming, job: Job): Promise<Reply> {
  const isByUrl = textOf(body, 'response_format') === 'url';
  const image = isByUrl ? { url: room.fileUrl(job) } : { b64_json: (await drawImage(job.prompt)).toString('base64') };
  return {
    status: 200,
    json: { created: Math.floor(job.createdAt / 1000), data: job.behaviour.hasNoOutput ? [] : [image] },
  };
}

async function speechOf(_room: Room, _incoming: Incoming, job: Job): Promise<Reply> {
  const bytes = job.behaviour.hasNoOutput ? Buffer.alloc(0) : drawAudio(job.prompt);
  return { status: 200, bytes, mimeType: 'audio/wav' };
}

function oneVideo(room: Room, { method, path }: Incoming): Reply {
  const [, id = '', content] = ONE_VIDEO.exec(path) ?? [];
  const job = room.jobs.find('openai', id);
  if (job === undefined) return wording.error(404, 'other');
  const identity = { protocol: 'openai', jobId: job.id, prompt: job.prompt } as const;
  if (method === 'DELETE' && content === undefined) {
    room.log({ kind: 'cancel', ...identity });
    job.cancel();
    return { status: 200, json: { id: job.id, object: 'video.deleted', deleted: true } };
  }
  if (method !== 'GET') return wording.error(405, 'other');
  if (content !== undefined) return { fileOf: job };
  room.log({ kind: 'poll', ...identity });
  if (job.pollFailuresLeft-- > 0) return wording.error(500, 'other');
  if (job.behaviour.answersPollsWithHtml) return { status: 200, html: '<!doctype html><title>One moment</title>' };
  if (job.behaviour.answersPollsWithOtherTypes) return { status: 200, json: OTHER_TYPES };
  if (job.state === 'cancelled') return wording.error(404, 'other');
  return { status: 200, json: video(job) };
}

function video(job: Job): Record<string, unknown> {
  const common = { id: job.id, object: 'video', model: 'test', created_at: Math.floor(job.createdAt / 1000) };
  if (job.state === 'running') return { ...common, status: 'in_progress', progress: 50 };
  if (job.behaviour.isFailing) {
    const error = { code: 'video_generation_failed', message: 'CUDA out of memory at /src/predict.py' };
    return { ...common, status: 'failed', progress: 100, error };
  }
  return { ...common, status: 'completed', progress: 100, error: null };
}
