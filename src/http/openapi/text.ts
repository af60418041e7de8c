/**
 * The texts of the reference that do not belong to a single route.
 */
import type { ROUTE_TAGS } from '../app/route.ts';

/** What applies to every operation of the public API. */
export const API_DESCRIPTION = `One HTTPS API in front of many generative models. Creating a task returns its id at once; the result is read by polling, or announced by a callback.

**Answers** stand in an envelope: \`{"code":200,"message":"success","data":…,"error_code":""}\`. Errors have the same form, with \`data\` null, \`code\` equal to the HTTP status, a \`message\` that names the field at fault, and an \`error_code\` for programs. A path that nobody serves is 404 \`NOT_FOUND\`, a method that a path does not take 405 \`METHOD_NOT_ALLOWED\` with \`Allow\`. Whatever takes GET takes HEAD; \`OPTIONS\` tells what a path takes in \`Allow\`. Below \`/v1/chat\`, \`/v1/responses\` and \`/v1/models\` errors have the \`error\` object of OpenAI's API beside that.

**Times** are Unix seconds. **Money** is a decimal string in USD. **Unknown fields** and unknown query parameters are refused with 400; answers may gain fields, so ignore those you do not know.

**Keys** go into \`Authorization: Bearer <API key>\` and belong on servers only. Every answer of an operation that takes a key carries, for a valid one, \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

**Retries**: 429 and 503 carry \`Retry-After\`. Creating is safe to repeat with the same \`Idempotency-Key\`. Every answer carries \`X-Request-Id\`: name it when you ask about one.`;

/** The same for the admin listener. */
export const ADMIN_DESCRIPTION = `For operators: accounts, their keys and their books. Answers and errors have the form that the public API has.

Every request carries \`Authorization: Bearer <ADMIN_TOKEN>\`. No API key opens anything here, and the token opens nothing of the public API.`;

export const TAG_DESCRIPTIONS: Readonly<Record<(typeof ROUTE_TAGS)[number], string>> = {
  Tasks: 'Generating: create a task, follow it, end it.',
  Text: "Text models, in the dialects of OpenAI's API: its clients work with `{base_url}` as their base URL. Errors have its form beside ours. No task comes of a call, and no callback.",
  'Stored outputs': 'What tasks made: list it, keep it for long, delete it.',
  Files: 'Your own pictures, films and sounds, as inputs of tasks.',
  Models: 'The catalogue: what there is, what it takes and what it costs.',
  Account: 'Balance, ledger and usage.',
  Keys: 'API keys of the account.',
  Webhooks: 'The key that callbacks are signed with.',
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
    description: 'An API key. What it may do is told by its scopes, named with each operation.',
  },
  adminToken: { type: 'http', scheme: 'bearer', description: "The operator's token (`ADMIN_TOKEN`)." },
} as const;
