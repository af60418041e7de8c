/**
 * The texts of the reference that do not belong to a single route.
 */
import type { ROUTE_TAGS } from '../app/route.ts';

/** What applies to every operation of the public API. */
export const API_DESCRIPTION = `One HTTPS API in front of many generative models. Creating a task returns its id at once; the result is read by polling, or announced by a callback.

**Responses** have an envelope: \`{"code":200,"message":"success","data":…,"error_code":""}\`. Errors have the same form, with \`data\` null, \`code\` equal to the HTTP status, a \`message\` that names the field at fault, and an \`error_code\` for programs. An unknown path is 404 \`NOT_FOUND\`, a method that a path does not support 405 \`METHOD_NOT_ALLOWED\` with \`Allow\`. Every path that supports GET supports HEAD; \`OPTIONS\` returns the supported methods in \`Allow\`. Below \`/v1/chat\`, \`/v1/responses\` and \`/v1/models\` errors have the \`error\` object of OpenAI's API beside that.

**Times** are Unix seconds. **Money** is a decimal string in USD. **Unknown fields** and unknown query parameters are rejected with 400; responses may gain fields, so ignore unknown ones.

**Keys** go into \`Authorization: Bearer <API key>\` and belong on servers only. Every response to a request with a valid key carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

**Retries**: 429 and 503 carry \`Retry-After\`. Creating is safe to repeat with the same \`Idempotency-Key\`. Every response carries \`X-Request-Id\`: quote it when you report a problem.`;

/** The same for the admin listener. */
export const ADMIN_DESCRIPTION = `For operators: accounts, their keys and their ledger. Responses and errors have the form that the public API has.

Every request carries \`Authorization: Bearer <ADMIN_TOKEN>\`. API keys are not accepted here, and the token is not accepted by the public API.`;

export const TAG_DESCRIPTIONS: Readonly<Record<(typeof ROUTE_TAGS)[number], string>> = {
  Tasks: 'Create, follow and cancel tasks.',
  Text: "Text models, in the dialects of OpenAI's API: its clients work with `{base_url}` as their base URL. Errors have its form beside ours. A call creates no task and no callback.",
  'Stored outputs': 'List the outputs of tasks, keep them permanently, delete them.',
  Files: 'Upload images, videos and audio as inputs of tasks.',
  Models: 'The catalogue: models, their inputs and their prices.',
  Account: 'Balance, ledger and usage.',
  Keys: 'API keys of the account.',
  Webhooks: 'The signing secret of callbacks.',
  Dashboard: 'Signing in to the dashboard, and its files. Programs use a key.',
  Media: 'Bytes behind signed URLs; no API key.',
  Service: 'Probes, and this reference.',
  Administration: "The operator's own listener.",
};

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'dk_live_…',
    description: 'An API key. Each operation names the scope that it requires.',
  },
  adminToken: { type: 'http', scheme: 'bearer', description: "The operator's token (`ADMIN_TOKEN`)." },
} as const;
