/**
 * The reviewed list of everything in the program that reads a text as a whole at once: parsers, decoders, regular
 * expressions built at run time, expressions of a language. Data from clients and upstreams is read on the event loop
 * only up to the bound listed here, or in a thread. Counted by parsers.test.ts.
 */

/** What a file may use and how often, whose text it reads, and what bounds it. */
export interface ReviewedParser {
  readonly uses: Readonly<Record<string, number>>;
  readonly of: 'clients' | 'upstreams' | 'operators' | 'our own';
  readonly bound: string;
}

/** Patterns built from constants of the program; no external text is part of them. */
const FIXED = 'put together once, of texts that stand in the program';
const IN_TEXT_THREAD = 'runs in a text thread, which is ended after 10 s';
const IN_ENGINE_THREAD =
  'runs in an engine thread; the pattern is of words of ours, the text a prompt of bounded length';

export const PARSERS: Readonly<Record<string, ReviewedParser>> = {
  'src/accounts/api-key.ts': { uses: { RegExp: 3 }, of: 'clients', bound: FIXED },
  'src/accounts/sessions.ts': { uses: { RegExp: 1 }, of: 'clients', bound: FIXED },
  'src/providers/hooks/public-keys.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: '64 kB, the limit of the download',
  },
  'src/providers/http/auth/auth.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'operators',
    bound: 'the key file of a service account',
  },
  'src/providers/http/media-inputs.ts': { uses: { RegExp: 1 }, of: 'our own', bound: 'a marker of random characters' },
  'src/providers/http/submit-request.ts': { uses: { RegExp: 1 }, of: 'our own', bound: FIXED },
  'src/providers/http/validate-binding.ts': {
    uses: { jsonata: 2 },
    of: 'operators',
    bound: 'compiles expressions of model files; evaluates nothing',
  },
  'src/providers/http/constants.ts': {
    uses: { jsonata: 1 },
    of: 'operators',
    bound: 'compiles expressions of model files; evaluates nothing',
  },
  'src/commands/admin/try/credential.ts': {
    uses: { 'JSON.parse': 1, RegExp: 1 },
    of: 'operators',
    bound: 'a credential; the expression is made of its spellings, each literally',
  },
  'src/commands/admin/try/input.ts': { uses: { 'JSON.parse': 2 }, of: 'operators', bound: 'an argument, or 64 MB' },
  'src/commands/admin/try/observe.ts': { uses: { 'JSON.parse': 2 }, of: 'our own', bound: 'what we are about to send' },
  'src/commands/admin/try/recording.ts': { uses: { 'JSON.parse': 1 }, of: 'operators', bound: '256 MB' },
  'src/commands/admin/try/resolve-upstream.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'operators',
    bound: "the operator's own files",
  },
  'src/commands/admin/try/outputs.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a log line' },
  'src/commands/admin/try/bound-provider.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a log line' },
  'src/catalogue/model-files.ts': {
    uses: { 'JSON.parse': 1, TextDecoder: 1 },
    of: 'operators',
    bound: 'a file of at most 4 MB',
  },
  'src/catalogue/load-models.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a file of the build' },
  'packages/api/src/client/api-client.ts': {
    uses: { 'JSON.parse': 2 },
    of: 'our own',
    bound: "the answers of this process's own routes, in the api; it is a client otherwise",
  },
  'packages/api/src/facts/input-fault.ts': { uses: { RegExp: 1 }, of: 'our own', bound: FIXED },
  'src/standalone/file-lock.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a file of the data directory' },
  'src/standalone/first-run-answer.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a line of our own child' },
  'src/standalone/instance.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a file of the data directory' },
  'src/standalone/logs.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a log line of our own children' },
  'src/standalone/processes.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a file of the data directory' },
  'src/standalone/secrets.ts': { uses: { 'JSON.parse': 1 }, of: 'our own', bound: 'a file of the data directory' },
  'src/standalone/temporal-cli-sources.ts': {
    uses: { '.json': 1 },
    of: 'operators',
    bound: "the Temporal CLI's maker, at the first start on the operator's machine",
  },
  'packages/engines/src/image/edit/plan-rules.ts': { uses: { RegExp: 1 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'packages/engines/src/image/edit/plan.ts': { uses: { RegExp: 3 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'packages/engines/src/image/portrait-reading.ts': { uses: { RegExp: 1 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'packages/engines/src/image/prompt-reading.ts': { uses: { RegExp: 1 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'packages/engines/src/song/prompt-reading.ts': { uses: { RegExp: 5 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'packages/engines/src/speech/speakable-text.ts': { uses: { RegExp: 1 }, of: 'clients', bound: IN_ENGINE_THREAD },
  'src/http/routes/transcriptions.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: '16 MB, the largest transcript; ten hours of speech are about 2 MB',
  },
  'src/http/app/in-process-fetch.ts': {
    uses: { '.arrayBuffer': 1 },
    of: 'clients',
    bound: 'a part of the body of POST /mcp, which was read within the bounds of json-body.ts',
  },
  'src/http/bodies/parse-body.ts': {
    uses: { 'JSON.parse': 1, TextDecoder: 1 },
    of: 'clients',
    bound:
      '128 kB and 5,000 values on the event loop; in a thread 10 MB, 50,000 values, 1 MB of names, 32 levels, 33 for the line of a batch (json-scanner.ts)',
  },
  'src/http/routes/mcp.ts': { uses: { '.json': 2 }, of: 'our own', bound: "the answer of this process's own routes" },
  'src/http/bodies/upload-body.ts': {
    uses: { Busboy: 1 },
    of: 'clients',
    bound: 'reads piece by piece: 2 parts, 50 headers of 16 kB together, fields of 1 kB, 100 MB and 64 kB in all',
  },
  'packages/media/src/program-files.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'our own',
    bound: "the package's own package.json",
  },
  'packages/media/src/messages.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: 'facts of a media child, 64 kB',
  },
  'src/upstreams/upstream-settings.ts': { uses: { TextDecoder: 1 }, of: 'operators', bound: 'a file of at most 64 kB' },
  'src/providers/json-answer.ts': {
    uses: { 'JSON.parse': 1, TextDecoder: 1 },
    of: 'upstreams',
    bound:
      'bytes that the caller allows, 64 MB at most; 400,000 values, 64 levels, counted while they arrive; above 128 kB ' +
      'or 5,000 values in a thread',
  },
  'src/providers/answer-thread.ts': {
    uses: { jsonata: 1, 'JSON.parse': 1 },
    of: 'upstreams',
    bound:
      'runs in a thread, which is ended after 5 s; `$parseJson` reads 1 MB, with the depth and the parts of an answer',
  },
  'src/providers/http/expressions.ts': {
    uses: { jsonata: 1, 'JSON.parse': 1 },
    of: 'upstreams',
    bound:
      'what expressions took of an answer that was parsed within the bounds of http-exchange.ts; of an expression, of at most 8,000 characters, only the syntax',
  },
  'packages/offline-text/src/answers/arithmetic.ts': { uses: { RegExp: 3 }, of: 'clients', bound: IN_TEXT_THREAD },
  'packages/offline-text/src/answers/echo.ts': { uses: { RegExp: 2 }, of: 'clients', bound: IN_TEXT_THREAD },
  'packages/offline-text/src/answers/recall.ts': { uses: { 'JSON.parse': 1 }, of: 'clients', bound: IN_TEXT_THREAD },
  'packages/offline-text/src/json/requested-json.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'clients',
    bound: IN_TEXT_THREAD,
  },
  'packages/offline-text/src/json/formats.ts': { uses: { RegExp: 5 }, of: 'clients', bound: IN_TEXT_THREAD },
  'packages/offline-text/src/reading/found-values.ts': { uses: { RegExp: 7 }, of: 'clients', bound: IN_TEXT_THREAD },
  'packages/offline-text/src/reading/requested-form.ts': { uses: { RegExp: 2 }, of: 'clients', bound: IN_TEXT_THREAD },
  'src/text/encoder.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: 'one event of a stream, 4 MB (event-stream.ts), or one that repeats a request of 10 MB',
  },
  'src/text/money/input-bound.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'clients',
    bound: 'escapes in 64 kB of a text, then others get a turn',
  },
  'src/transcripts/formats.ts': { uses: { TextDecoder: 1 }, of: 'upstreams', bound: 'the first 4 kB of a file' },
  'src/text/tools/image-tool.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: 'the arguments of a call, within the output cap of the model',
  },
  'src/text/tokens.ts': { uses: { RegExp: 1 }, of: 'clients', bound: `${FIXED}; more than 8 kB are read in a thread` },
  'src/text/upstream/chat-stream.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound:
      'one event of a stream, 4 MB (event-stream.ts), or an answer that is not streamed, 32 MB and 400,000 values (attempt.ts)',
  },
  'src/text/upstream/chunk-template.ts': {
    uses: { 'JSON.parse': 2 },
    of: 'upstreams',
    bound: 'one text of one event, and the name of one member, 4 MB (event-stream.ts)',
  },
  'src/text/upstream/rejection.ts': {
    uses: { 'JSON.parse': 1 },
    of: 'upstreams',
    bound: 'the body of an error, 64 kB (attempt.ts)',
  },
  'src/presenters/storage.ts': { uses: { RegExp: 1 }, of: 'clients', bound: FIXED },
};
