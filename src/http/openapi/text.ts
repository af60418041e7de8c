/** What is written by hand in the reference: descriptions that do not belong to a single route, and an example. */
import type { WireTask } from '@darkroom/api/tasks/task';
import type { ROUTE_TAGS } from '../app/route.ts';

/** What applies to every operation of the public API. */
export const API_DESCRIPTION = `One HTTPS API in front of many generative models. Creating a task returns its id immediately. Get the result by polling, or receive it by a callback.

**Responses** are wrapped in an envelope: \`{"code":200,"message":"success","data":…,"error_code":""}\`. Errors have the same format, with \`data\` null, \`code\` equal to the HTTP status, a \`message\` that names the invalid field, and an \`error_code\` for programs. An unknown path returns 404 \`NOT_FOUND\`. A method that a path does not support returns 405 \`METHOD_NOT_ALLOWED\` with \`Allow\`. Every path that supports GET supports HEAD; \`OPTIONS\` returns the supported methods in \`Allow\`. Under \`/v1/chat\`, \`/v1/responses\`, \`/v1/images\`, \`/v1/audio\` and \`/v1/models\`, errors also have the \`error\` object of OpenAI's API.

**Times** are Unix seconds. **Money** is a decimal string in USD. **Unknown fields** and unknown query parameters are rejected with 400. New fields may be added to responses, so ignore unknown ones.

**Keys** are sent as \`Authorization: Bearer <API key>\`. Use them on servers only. Every response to a request with a valid key carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

**Retries**: 429 and 503 carry \`Retry-After\`. Creating a task is safe to retry with the same \`Idempotency-Key\`. Every response carries \`X-Request-Id\`: include it when you report a problem.`;

/** The same for the admin listener. */
export const ADMIN_DESCRIPTION = `For operators: accounts, their keys and their ledger. Responses and errors have the same format as in the public API.

Every request carries \`Authorization: Bearer <ADMIN_TOKEN>\`. API keys are not accepted here, and the token is not accepted by the public API.`;

export const TAG_DESCRIPTIONS: Readonly<Record<(typeof ROUTE_TAGS)[number], string>> = {
  Tasks: 'Create, follow and cancel tasks.',
  Text: "Text models, compatible with OpenAI's API: its clients work with `{base_url}` as their base URL. Errors also have the `error` object of OpenAI's API. A call creates no task and no callback.",
  Batches: 'Many requests in a file, with a file of results, compatible with OpenAI’s batches.',
  'Images and audio':
    "OpenAI's media endpoints: its clients work with `{base_url}` as their base URL. Every call is a task, and the response waits for its result. Errors also have the `error` object of OpenAI's API.",
  Videos:
    "OpenAI's videos: its clients work with `{base_url}` as their base URL. Every video is a task, and its client polls it. Errors also have the `error` object of OpenAI's API.",
  'Stored outputs': 'List, promote and delete the outputs of tasks.',
  Files: 'Upload images, videos and audio as inputs of tasks.',
  Models: 'The catalogue: models with their inputs and prices.',
  Account: 'Balance, ledger and usage.',
  Keys: 'API keys of the account.',
  Webhooks: 'The signing secret of callbacks.',
  Dashboard: 'Sessions and files of the dashboard. Programs use an API key.',
  Media: 'Files behind signed URLs. No API key is required.',
  Service: 'Health checks, provider webhooks, the Model Context Protocol, the guide and this reference.',
  Administration: 'The API for operators, on its own listener.',
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

/** A finished task, which tools cannot generate from its schema. */
const EXAMPLE_TASK: WireTask = {
  taskId: 'tk-svc-01KAJ5Q2W8ZV4N6T0R3M9C7XHB',
  model: 'darkroom/scene',
  status: 'success',
  created: 1_763_700_000,
  started: 1_763_700_001,
  completed: 1_763_700_003,
  storage: 'temp',
  keyId: '4Gq0ZrT8bW',
  metadata: { order: '7' },
  output: [
    {
      url: 'https://api.example.com/media/v1.out_01KAJ5Q5B0.t62f60.mQ0b2rT7yW9xK3nV5cZ8aE/tk-svc-01KAJ5Q2W8ZV4N6T0R3M9C7XHB-1.png',
      type: 'image',
      expireAt: 1_763_702_100,
      id: 'out_01KAJ5Q5B0',
      mimeType: 'image/png',
      sizeBytes: 1_482_113,
      width: 1024,
      height: 1024,
      sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      storage: 'temp',
      retainUntil: 1_764_304_803,
    },
  ],
  billing: { currency: 'USD', held: '0.01', captured: '0.01', released: '0' },
};

/** Examples of schemas, by the names of their components. */
export const SCHEMA_EXAMPLES: Readonly<Record<string, unknown>> = { Task: EXAMPLE_TASK };
