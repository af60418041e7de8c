/** Validates a binding beyond its form, when the model file is read. */
import jsonata from 'jsonata';
import { findAuthProblem } from './auth/auth.ts';
import { BODY_OUTPUT } from './binding.ts';
import type { FormPartBinding, HttpBinding, UploadBinding } from './binding.ts';
import { findHookProblem, usesDerivedSecret } from '../hooks/hook-rules.ts';

/** They make an expression out of data, or return another result each time: a repeated submit must stay the same. */
const BARRED_FUNCTIONS: readonly string[] = ['eval', 'now', 'millis', 'random', 'shuffle'];

/** Set by the client itself, or a way around the credential's name. */
const BARRED_HEADERS: readonly string[] = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'host',
  'connection',
  'transfer-encoding',
  'content-length',
  'content-type',
  'accept',
  'accept-encoding',
  'user-agent',
  'expect',
  'upgrade',
];

/** Whether any expression of a submit reads this variable. */
export function submitReads({ submit }: HttpBinding, variable: 'taskId' | 'hookUrl' | 'hookSecret'): boolean {
  const texts = [
    submit.path,
    submit.body,
    ...Object.values(submit.headers ?? {}),
    ...(submit.form ?? []).flatMap(({ value, fields }) => [value, fields]),
  ];
  return texts.some((text) => text !== undefined && variablesOf(jsonata(text).ast()).has(variable));
}

/**
 * What is wrong with a binding beyond its form.
 *
 * @returns the first problem with its position, or undefined.
 */
export function findBindingProblem(binding: HttpBinding): string | undefined {
  for (const [name, text] of expressionsOf(binding)) {
    const problem = text === undefined ? undefined : findExpressionProblem(text);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  const { auth, poll, jobId, result, unbilled, cancel } = binding;
  return (
    (auth === undefined ? undefined : findAuthProblem(auth)) ??
    findHeaderProblem(binding) ??
    findBodyProblem(binding) ??
    findMediaProblem(binding) ??
    findOutputProblem(binding) ??
    findCallProblem(binding) ??
    ((jobId === undefined) === (poll === undefined) ? undefined : 'poll: it and jobId need one another') ??
    (poll === undefined && (result ?? cancel ?? unbilled) !== undefined
      ? 'jobId: missing; result, cancel and unbilled need one'
      : undefined) ??
    (binding.isSubmitRepeatable === true && !submitReads(binding, 'taskId')
      ? 'isSubmitRepeatable: no expression of submit sends $taskId'
      : undefined)
  );
}

function findHeaderProblem({ headers, submit, upload }: HttpBinding): string | undefined {
  const names = [headers, submit.headers, upload?.headers, upload?.send?.headers].flatMap((all) =>
    Object.keys(all ?? {}),
  );
  const barred = names.find((name) => BARRED_HEADERS.includes(name.toLowerCase()));
  return barred === undefined ? undefined : `headers: ${barred} is not for a model file to set`;
}

function findBodyProblem({ auth, submit, upload }: HttpBinding): string | undefined {
  if ((submit.body === undefined) === (submit.form === undefined)) return 'submit: it needs either body or form';
  if (submit.form !== undefined && auth?.scheme === 'sigv4') {
    return 'submit.form: scheme sigv4 signs the body, and a form is streamed';
  }
  for (const [index, part] of (submit.form ?? []).entries()) {
    const problem = part.isFile === undefined ? findPartProblem(part) : 'isFile: only upload has a file';
    if (problem !== undefined) return `submit.form.${index}.${problem}`;
  }
  return upload === undefined ? undefined : findUploadProblem(upload);
}

function findUploadProblem({ body, form, send }: UploadBinding): string | undefined {
  if (body !== undefined && form !== undefined) return 'upload: it needs either body or form';
  if ((body === undefined) !== (send === undefined)) return 'upload.send: it and body need one another';
  for (const [where, parts] of [
    ['upload.form', form],
    ['upload.send.form', send?.form],
  ] as const) {
    if (parts === undefined) continue;
    for (const [index, part] of parts.entries()) {
      const problem = part.media === undefined ? findPartProblem(part) : 'media: isFile is the file of an upload';
      if (problem !== undefined) return `${where}.${index}.${problem}`;
    }
    if (parts.filter(({ isFile }) => isFile === true).length !== 1) return `${where}: it needs one part with isFile`;
  }
  return undefined;
}

function findPartProblem({ name, value, fields, media, isFile }: FormPartBinding): string | undefined {
  const contents = [value, fields, media, isFile].filter((content) => content !== undefined);
  if (contents.length !== 1) return 'value: a part has one of value, fields, media and isFile';
  if (fields === undefined) return name === undefined ? 'name: missing' : undefined;
  return name === undefined ? undefined : 'name: fields has the names';
}

function findMediaProblem({ media = {}, upload, submit }: HttpBinding): string | undefined {
  const uploaded = Object.entries(media).find(([, mode]) => mode === 'upload')?.[0];
  if (uploaded !== undefined && upload === undefined) return `media.${uploaded}: there is no upload`;
  if (uploaded === undefined && upload !== undefined) return 'upload: no field of media is uploaded';
  const inline = Object.entries(media).find(([, mode]) => mode === 'inline')?.[0];
  return inline !== undefined && submit.body === undefined
    ? `media.${inline}: in a form, a part with media sends the file`
    : undefined;
}

function findOutputProblem({ outputs, poll, result }: HttpBinding): string | undefined {
  return outputs.trim() === BODY_OUTPUT && poll !== undefined && result === undefined
    ? 'outputs: $body is the response of result, or of a submit without jobs'
    : undefined;
}

/** A provider calls only where it is told to. */
function findCallProblem(binding: HttpBinding): string | undefined {
  const { hook } = binding;
  const sendsSecret = submitReads(binding, 'hookSecret');
  if (hook !== undefined) {
    if (!submitReads(binding, 'hookUrl')) return 'hook: no expression of submit sends $hookUrl';
    const problem = findHookProblem(hook);
    if (problem !== undefined) return `hook.${problem}`;
    if (usesDerivedSecret(hook)) {
      return sendsSecret ? undefined : 'hook.verify.secret: missing, and no expression of submit sends $hookSecret';
    }
  }
  return sendsSecret ? 'submit: $hookSecret is for scheme hmac-sha256 of hook.verify without a secret' : undefined;
}

function expressionsOf(binding: HttpBinding): readonly (readonly [string, string | undefined])[] {
  const { submit, upload, jobId, poll, result, outputs, reason, unbilled, cancel } = binding;
  return [
    ['submit.path', submit.path],
    ['submit.body', submit.body],
    ...headersOf('submit.headers', submit.headers),
    ...partsOf('submit.form', submit.form),
    ['submit.refusal', submit.refusal],
    ['submit.retryAfter', submit.retryAfter],
    ['upload.path', upload?.path],
    ['upload.body', upload?.body],
    ...headersOf('upload.headers', upload?.headers),
    ...partsOf('upload.form', upload?.form),
    ['upload.send.url', upload?.send?.url],
    ...headersOf('upload.send.headers', upload?.send?.headers),
    ...partsOf('upload.send.form', upload?.send?.form),
    ['upload.reference', upload?.reference],
    ['jobId', jobId],
    ['poll.path', poll?.path],
    ['poll.body', poll?.body],
    ['poll.state', poll?.state],
    ['poll.progress', poll?.progress],
    ['poll.retryAfter', poll?.retryAfter],
    ['result.path', result?.path],
    ['outputs', outputs],
    ['reason', reason],
    ['unbilled', unbilled],
    ['cancel.path', cancel?.path],
    ['cancel.body', cancel?.body],
    ['cancel.outcome', cancel?.outcome],
    ['cancel.cost', cancel?.cost],
  ];
}

function headersOf(where: string, headers: Readonly<Record<string, string>> = {}) {
  return Object.entries(headers).map(([name, text]) => [`${where}.${name}`, text] as const);
}

function partsOf(where: string, parts: readonly FormPartBinding[] = []) {
  return parts.flatMap(({ value, fields }, index) => [
    [`${where}.${index}.value`, value] as const,
    [`${where}.${index}.fields`, fields] as const,
  ]);
}

function findExpressionProblem(text: string): string | undefined {
  let variables;
  try {
    variables = variablesOf(jsonata(text).ast());
  } catch (error) {
    return `not JSONata: ${error instanceof Error ? error.message : 'it cannot be read'}`;
  }
  const barred = BARRED_FUNCTIONS.find((name) => variables.has(name));
  return barred === undefined ? undefined : `$${barred} is not available here`;
}

/** The names of all variables and functions in a syntax tree. */
function variablesOf(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const rest: unknown[] = [tree];
  while (rest.length > 0) {
    const node = rest.pop();
    if (typeof node !== 'object' || node === null || seen.has(node)) continue;
    seen.add(node);
    if ('type' in node && node.type === 'variable' && 'value' in node) names.add(String(node.value));
    rest.push(...Object.values(node));
  }
  return names;
}
