/**
 * The form of errors, by the path of the request alone: so that errors raised before any route is reached, such as
 * for an unknown path below `/v1/responses` (contract §9), have the same form.
 */

/**
 * - `envelope`: our envelope alone (contract §1), with the four fields of spec §7 and no other;
 * - `admin`: with an additional `violations`, for the pages of operators;
 * - `text`: with OpenAI's `error` object in addition, and its `error_code` for an invalid key (spec §4.4.5); also for
 *   OpenAI's media endpoints;
 * - `models`: with that object too, because the same clients list models and have files; `error_code` stays as
 *   everywhere else;
 * - `json-rpc`: for clients of the Model Context Protocol, which read nothing else.
 */
export type ErrorForm = 'envelope' | 'admin' | 'text' | 'models' | 'json-rpc';

/** What follows `/v1/` in the paths of OpenAI's endpoints. */
const OPENAI_PATHS: ReadonlySet<string> = new Set(['chat', 'responses', 'images', 'audio', 'videos']);

/** The same for endpoints that other clients use as well. */
const ALSO_OPENAI_PATHS: ReadonlySet<string> = new Set(['models', 'files', 'uploads', 'batches']);

/** Whether OpenAI's clients use a path. */
export function isOfOpenAi(path: string): boolean {
  return ['text', 'models'].includes(errorFormOf(path));
}

/**
 * @param path of a request or a route. An unusual form (`/v1//chat`, `/v1%2Fchat`) is treated like the path that it
 * resembles.
 */
export function errorFormOf(path: string): ErrorForm {
  const [api, first = ''] = path.split(/(?:\/|%2f)+/i, 3).slice(1);
  if (api === 'mcp') return 'json-rpc';
  if (api === 'admin') return 'admin';
  if (api !== 'v1') return 'envelope';
  if (OPENAI_PATHS.has(first)) return 'text';
  return ALSO_OPENAI_PATHS.has(first) ? 'models' : 'envelope';
}
