/** Requests that may come as JSON instead of a form, where the handler reads the body. */
import type { HttpContext } from '../app/context.ts';
import { CREATE_BODY_BYTES, readJson } from '../bodies/json-body.ts';
import type { MediaRequest } from './headers.ts';

export function isJson({ ctx }: MediaRequest): boolean {
  return /^\s*application\/json\s*(;|$)/i.test(ctx.get('Content-Type'));
}

/** @param read stores the files that the body contains: the response may wait for minutes, and not with the body. */
export async function withJson<Result>(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  read: (value: unknown) => Promise<Result>,
): Promise<Result> {
  const { bodyThreads: threads, turns } = http;
  const allowance = http.bodies.ofAccount(caller);
  try {
    const limits = { maxBytes: CREATE_BODY_BYTES, allowance, threads, turns, needsFacts: false };
    const body = await readJson(ctx.req, limits);
    if (body.isLarge) await turns.next();
    return await read(body.value);
  } finally {
    allowance.release();
  }
}
