/** The far end of `POST /images/generations`, in the form of the openai-openapi document: synchronous, no keys. */
import { readBehaviour } from './behaviour.ts';
import { drawPicture } from './picture.ts';
import { answerSubmit, refusalHeaders, textOf } from './protocol.ts';
import type { Incoming, Reply, Room, Wording } from './protocol.ts';

const wording: Wording = {
  error(status, kind) {
    const codes = { content: 'moderation_blocked', model: 'model_not_found', other: null };
    const type = kind === 'content' ? 'image_generation_user_error' : 'invalid_request_error';
    const message = 'The text of this provider, which nobody may pass on.';
    return {
      status,
      json: { error: { code: codes[kind], message, param: null, type } },
      headers: refusalHeaders(status),
    };
  },
};

/** Answers one request below `/openai/v1`. */
export async function handleOpenAi(room: Room, incoming: Incoming): Promise<Reply> {
  const { method, path, body } = incoming;
  if (method !== 'POST' || path !== '/images/generations') return wording.error(404, 'other');
  const prompt = textOf(body, 'prompt');
  const behaviour = readBehaviour(prompt);
  const refuse = (status: number, kind: 'content' | 'model' | 'other' = 'other'): Reply => {
    room.log({ protocol: 'openai', kind: 'refused', prompt, status });
    return wording.error(status, kind);
  };
  if (textOf(body, 'model') === 'missing-model') return refuse(404, 'model');
  if (behaviour.refuseStatus > 0) return refuse(behaviour.refuseStatus);
  if (room.jobs.isStillRefused('openai', prompt)) return refuse(503);
  if (behaviour.isContentRefused) return refuse(400, 'content');

  const job = room.jobs.create('openai', prompt);
  const early = await answerSubmit(job, { status: 200, json: null }, wording);
  if (early === 'drop' || early.status !== 200 || 'html' in early) return early;
  await job.ended;
  if (behaviour.isFailing) return wording.error(500, 'other');
  const isByUrl = textOf(body, 'response_format') === 'url';
  const image = isByUrl ? { url: room.fileUrl(job) } : { b64_json: (await drawPicture(prompt)).toString('base64') };
  return {
    status: 200,
    json: { created: Math.floor(job.createdAt / 1000), data: behaviour.hasNoOutput ? [] : [image] },
  };
}
