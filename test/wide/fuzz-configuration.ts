/**
 * What Schemathesis needs in addition to the document: real ids to use, and what the document cannot express. Every
 * exception is listed here with its reason.
 */

/** Checks that are skipped for some operations, or done differently. */
const EXCEPTIONS: readonly { readonly operations: readonly string[]; readonly why: string; readonly toml: string }[] = [
  {
    operations: ['listTasks', 'listLedger', 'listStoredOutputs', 'listAccountCallbacks'],
    why: 'a cursor is one that an earlier answer gave, and a page ends where cursors begin',
    toml: takes(400),
  },
  {
    operations: ['getUsage'],
    why: 'not every text of the form of a date is a day, and days have an order',
    toml: takes(400),
  },
  { operations: ['createKey'], why: 'models must be in the catalogue, and a key ends in the future', toml: takes(400) },
  { operations: ['setWebhookKey'], why: 'U+0000 cannot be stored', toml: takes(400) },
  { operations: ['rotateKey'], why: 'a key that was revoked or replaced has no successor', toml: takes(400) },
  { operations: ['testWebhook'], why: 'the address must be a public one, and reachable', toml: takes(400) },
  { operations: ['eraseTask'], why: 'the task must be over', toml: takes(400) },
  { operations: ['redeliverCallback'], why: 'the task must be over and have a callback', toml: takes(400) },
  {
    operations: ['createTask'],
    why: 'addresses must be public ones, a suffix of the model must not contradict the route, and keys are used again',
    toml: takes(400, 402, 422),
  },
  {
    operations: ['createChatCompletion', 'createResponse', 'countInputTokens', 'compactResponse'],
    why: 'what a model cannot do is rejected by its parameter, the response that one continues must be there, and an empty text is not given',
    toml: lenient(400, 503),
  },
  {
    operations: ['callMcp'],
    why: 'the version of the protocol is one of those that are spoken',
    toml: takes(400),
  },
  {
    operations: ['getResponse'],
    why: 'starting_after needs stream, what a response was made without cannot be included, and an empty text is not given',
    toml: lenient(400),
  },
  {
    operations: ['createImage', 'createImageEdit', 'createSpeech', 'createVideo', 'remixVideo'],
    why: 'what a model cannot honour is rejected by its field, addresses must be public ones, keys are used again, and an empty text is not given',
    toml: lenient(400, 402, 413, 415, 422),
  },
  {
    operations: ['createTranscription', 'createTranslation'],
    why: 'random bytes are not a recording, and an empty text is not given',
    toml: lenient(400, 402, 413, 415, 422),
  },
  {
    operations: ['listVideos', 'listFiles', 'listBatches'],
    why: 'a page begins after something that is in the list, and an empty text is not given',
    toml: lenient(400),
  },
  {
    operations: ['createBatch'],
    why: 'the file must be there, and for batches, and an empty text is not given',
    toml: lenient(400),
  },
  { operations: ['listResponseInputItems'], why: 'an empty text is not given', toml: lenient() },
  { operations: ['cancelBatch'], why: 'a batch that has ended cannot be cancelled', toml: takes(400) },
  {
    operations: ['createTasks'],
    why: 'an item that is wrong is an error of its own, with status 200',
    toml: `${takes(400)}\n${without('negative_data_rejection')}`,
  },
  {
    operations: ['downloadVideo'],
    why: 'there are no sprite sheets, and an empty text is not given',
    toml: lenient(400),
  },
  { operations: ['createToken'], why: 'models must be in the catalogue, and origins have a form', toml: takes(400) },
  {
    operations: ['createUpload', 'addUploadPart', 'completeUpload', 'cancelUpload'],
    why: 'a type belongs to a purpose, and the parts make what was announced',
    toml: takes(400, 413, 415),
  },
  { operations: ['previewOutput'], why: 'not every output is an image', toml: takes(415) },
  { operations: ['uploadFile'], why: 'random bytes are not an image', toml: takes(400, 415) },
  {
    operations: ['estimateTask'],
    why: 'it lists what is wrong, with status 200',
    toml: without('negative_data_rejection'),
  },
];

/** A check that a valid request is served, or for some operations rejected with one of these. */
function takes(...statuses: readonly number[]): string {
  const usual = ['"2xx"', '"3xx"', '401', '403', '404', '409', '429'];
  return `checks.positive_data_acceptance.expected-statuses = [${[...usual, ...statuses].join(', ')}]`;
}

/** The same for an endpoint of OpenAI's API, where an empty text is as if not given, whatever its schema. */
function lenient(...statuses: readonly number[]): string {
  return `${takes(...statuses)}\n${without('negative_data_rejection')}`;
}

function without(check: string): string {
  return `checks.${check}.enabled = false`;
}

/** @param values of path parameters, by their names: mostly these are used, sometimes others. */
export function fuzzConfiguration(values: Readonly<Record<string, readonly string[]>>): string {
  const dictionaries = Object.entries(values).flatMap(([name, each]) => [
    `[dictionaries.${name}]`,
    `values = ${JSON.stringify(each)}`,
    `[parameters."path.${name}"]`,
    `dictionary = "${name}"`,
    'probability = 0.8',
  ]);
  const operations = EXCEPTIONS.flatMap(({ operations: ids, why, toml }) => [
    '[[operations]]',
    `# ${why}`,
    `include-operation-id = ${JSON.stringify(ids)}`,
    toml,
  ]);
  const rejected = '[400, 401, 403, 404, 405, 413, 415, 422, 429, 431]';
  return [`checks.negative_data_rejection.expected-statuses = ${rejected}`, ...dictionaries, ...operations, ''].join(
    '\n',
  );
}
