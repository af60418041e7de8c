/**
 * How errors are told, by the path of the request alone: so that those have the same form which no route has had a part
 * in, such as an unknown path below `/v1/responses` (contract §9).
 */

/**
 * - `envelope`: ours alone (contract §1);
 * - `text`: with OpenAI's `error` object beside it, and its `error_code` for a bad key (spec §4.4.5);
 * - `models`: with that object too, as the same clients list models; `error_code` stays as everywhere else;
 * - `json-rpc`: for clients of the Model Context Protocol, which read nothing else.
 */
export type ErrorForm = 'envelope' | 'text' | 'models' | 'json-rpc';

/** @param path of a request, or of a route. One that is spelt oddly (`/v1//chat`, `/v1%2Fchat`) is meant as it reads. */
export function errorFormOf(path: string): ErrorForm {
  const [api, first = ''] = path.split(/(?:\/|%2f)+/i, 3).slice(1);
  if (api === 'mcp') return 'json-rpc';
  if (api !== 'v1') return 'envelope';
  if (first === 'chat' || first === 'responses') return 'text';
  return first === 'models' ? 'models' : 'envelope';
}
