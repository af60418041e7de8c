/**
 * Makes the media of a task's input available to its provider: a reference to an object of ours becomes a URL that
 * gives access to it until the task's deadline, or, for a provider that fetches nothing itself, all media become
 * files. Where the price counts their seconds, they are measured. Our own objects are read from the store and never
 * over the network (contract §7 "Uploads").
 */
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { jpegOf } from '@darkroom/media/decode';
import { UnsupportedMediaError } from '@darkroom/media/inspect';
import { UndecodableMediaError } from '@darkroom/media/undecodable-media-error';
import { extensionFor, isCounted, isPhonePhotograph, mediaTypeOf } from '@darkroom/media/media-types';
import pRetry from 'p-retry';
import { formatDataUrl, isDataUrl, isPhonePhotographUrl, parseDataUrl } from '../domain/data-url.ts';
import type { FaultKind } from '@darkroom/api/facts/input-fault';
import { EgressError } from '../egress/egress-error.ts';
import type { EgressFailureKind } from '../egress/egress-error.ts';
import { ShareExhaustedError } from '../limits/tenant-shares.ts';
import { ObjectNotFoundError } from '../objects/stores/object-store.ts';
import { factsOf } from '../objects/uploads.ts';
import type { FileFacts } from '../objects/uploads.ts';
import { referencedId, signedInputId } from '../objects/urls/signed-url.ts';
import type { GenerationRequest, InputFile } from '../providers/provider.ts';
import type { WorkingTask } from '../tasks/lifecycle/transitions.ts';
import { isAccepted, mediaOf, withTexts } from '../tasks/record/input-media.ts';
import type { MediaField } from '../tasks/record/input-media.ts';
import { findInputObjects } from '../tasks/record/input-objects.ts';
import type { InputObject } from '../tasks/record/input-objects.ts';
import type { GenerationContext } from './context.ts';
import { invalidInput, retryableFailure } from './failure.ts';
import type { TaskRoute } from './task-route.ts';
import type { ModelDefinition } from '../catalogue/definition.ts';
import { quote } from '../catalogue/price.ts';
import { decimalOf, isAbove } from '../domain/money.ts';

/** The maximum size of one input file in bytes, by its kind. */
const MAX_BYTES: Readonly<Record<string, number>> = { image: 50_000_000, audio: 100_000_000, video: 500_000_000 };
/**
 * Time limits of the download of one file. At a reasonable rate the largest image takes one minute, and the largest
 * video eight and a half minutes.
 */
const CONNECT_MS = 10_000;
const BYTES_PER_MS = 1_000;
/** After this many failed attempts the error is reported to the caller, who supplied the URL. */
const MAX_ATTEMPTS = 4;
/** After this many time-outs a download is not retried: a slow server occupies slots that other tasks need. */
const MAX_TIMEOUTS = 2;
const FIRST_PAUSE_MS = 500;
/** The error of a URL as reported to the task's owner; a URL that may not be reached is `unreachable`. */
const FAULT_OF_EGRESS: Readonly<Record<EgressFailureKind, FaultKind>> = {
  unreachable: 'unreachable',
  timeout: 'too_slow',
  status: 'not_served',
  tls: 'untrusted',
  too_large: 'too_large',
};

/**
 * The request as the provider receives it.
 *
 * @param scratch the directory of this attempt, for files.
 *
 * @throws {GenerationFailure} `input_unreachable`: a file could not be fetched; `input_invalid`: it is too large, or
 *   not of a kind that its field accepts; a retryable one if enough other tasks of the account are fetching theirs.
 */
export async function stageInputs(
  context: GenerationContext,
  task: WorkingTask,
  route: TaskRoute,
  { scratch, signal }: { readonly scratch: string; readonly signal: AbortSignal },
): Promise<GenerationRequest> {
  const { request, provider, definition } = route;
  const fields = mediaOf(definition.inputSchema, task.input);
  if (fields.length === 0) return request;
  const ids = fields.flatMap(({ value }) => referencedId(value) ?? []);
  const objects = await findInputObjects(context.database, ids);
  const isTaken = ({ path: [field = ''] }: MediaField): boolean => {
    const { takesMediaAsFiles = false } = provider;
    return typeof takesMediaAsFiles === 'boolean' ? takesMediaAsFiles : takesMediaAsFiles.has(field);
  };
  const taken = fields.filter(isTaken);
  const passedOn = fields.filter((field) => !isTaken(field));
  await checkAddresses(context, task.accountId, passedOn, signal);
  const input = passedOn.length === 0 ? request.input : withUrls(context, task, passedOn, objects);
  const timed = passedOn.filter((field) => isPricedByLength(definition, field));
  // What the provider fetches by a URL is not read here, unless its length counts.
  const photographs = passedOn.filter(({ value }) => isPhonePhotographUrl(value));
  if (taken.length + timed.length + photographs.length === 0) return { ...request, input };

  const needed = [...taken, ...timed, ...photographs];
  const loadAll = async (): Promise<readonly LoadedField[]> => {
    const loaded: LoadedField[] = [];
    for (const [index, field] of needed.entries()) {
      const target = { file: path.join(scratch, `input-${index}`), signal, accountId: task.accountId };
      loaded.push(await load(context, field, objects, target));
    }
    return loaded;
  };
  const fetches = needed.some(({ value }) => isElsewhere(value));
  const loaded = await (fetches ? context.inputFetches.run(task.accountId, loadAll) : loadAll());
  const priced = loaded.filter(({ field }) => isPricedByLength(definition, field));
  const inputSeconds = priced.length === 0 ? undefined : sumLengths(task, definition, priced);
  const media = loaded.slice(0, taken.length).map(({ field, file }) => [field.path.join('.'), file] as const);
  const texts = new Map<readonly string[], string>();
  for (const { field, file } of loaded.slice(taken.length + timed.length)) {
    texts.set(field.path, formatDataUrl({ mimeType: file.mimeType, bytes: await readFile(file.path) }));
  }
  return {
    ...request,
    input: withTexts(input, texts),
    ...(taken.length === 0 ? {} : { media: new Map(media) }),
    ...(inputSeconds === undefined
      ? {}
      : { inputSeconds, isInputCounted: priced.every(({ file }) => isCounted(file.mimeType)) }),
  };
}

/** A field of the input, and its file in the scratch directory. */
interface LoadedField {
  readonly field: MediaField;
  readonly file: InputFile;
  /** Null: it has none. */
  readonly durationSeconds: number | null;
}

/** Whether a file has to be fetched from a URL that the caller chose. */
function isElsewhere(value: string): boolean {
  return referencedId(value) === undefined && !isDataUrl(value);
}

/**
 * The provider fetches these itself, perhaps from within the operator's network: their host names are resolved, once
 * per host, as for a fetch of ours.
 *
 * @throws {GenerationFailure} `input_unreachable`; a retryable one if the account has too many lookups in progress.
 */
async function checkAddresses(
  context: GenerationContext,
  accountId: string,
  fields: readonly MediaField[],
  signal: AbortSignal,
): Promise<void> {
  const byOrigin = new Map<string, MediaField>();
  for (const field of fields.filter(({ value }) => isElsewhere(value))) {
    const origin = URL.canParse(field.value) ? new URL(field.value).origin : field.value;
    if (!byOrigin.has(origin)) byOrigin.set(origin, field);
  }
  for (const { path: fieldPath, value } of byOrigin.values()) {
    const find = () => context.egress.findObstacle(value, { accountId, timeoutMs: CONNECT_MS, signal }).catch(busy);
    let obstacle = await find();
    if (obstacle?.isPassing === true) obstacle = await find();
    if (obstacle !== undefined) throw invalidInput(obstacle.isPassing ? 'too_slow' : 'unreachable', fieldPath);
  }
}

/** Not the fault of the address: too many others are being resolved for the same account. */
function busy(error: unknown): never {
  throw error instanceof ShareExhaustedError
    ? retryableFailure('provider_unavailable', error.retryAfterSeconds * 1000)
    : error;
}

/**
 * The same for every attempt of a task, as long as the key that it was started with is accepted: a provider that knows
 * our task id compares what it receives under it.
 */
function withUrls(
  context: GenerationContext,
  task: WorkingTask,
  fields: readonly MediaField[],
  objects: ReadonlyMap<string, InputObject>,
): WorkingTask['input'] {
  const texts = new Map<readonly string[], string>();
  for (const { path: fieldPath, value } of fields) {
    const object = referenced({ path: fieldPath, value }, objects);
    if (object === undefined) continue;
    const { url } = context.urlSigner.sign({
      outputId: signedInputId(object.id),
      fileName: `${object.id}.${extensionFor(object.mimeType)}`,
      ...(task.deadlineSeconds === null ? {} : { expireAt: task.deadlineSeconds }),
      keyId: task.urlKeyId,
    });
    texts.set(fieldPath, url);
  }
  return withTexts(task.input, texts);
}

/** @throws {GenerationFailure} there never was such an object: the database was replaced under a running task. */
function referenced(
  { path: fieldPath, value }: Pick<MediaField, 'path' | 'value'>,
  objects: ReadonlyMap<string, InputObject>,
): InputObject | undefined {
  const id = referencedId(value);
  if (id === undefined) return undefined;
  const object = objects.get(id);
  if (object === undefined) throw invalidInput('gone', fieldPath);
  return object;
}

/** Writes one file of the input into the scratch directory. */
async function load(
  context: GenerationContext,
  field: MediaField,
  objects: ReadonlyMap<string, InputObject>,
  { file, signal, accountId }: Pick<Target, 'file' | 'signal' | 'accountId'>,
): Promise<LoadedField> {
  const object = referenced(field, objects);
  const maxBytes = largestOf(field.accepts);
  const target = { file, maxBytes, signal, accountId, fieldPath: field.path };
  await (object === undefined ? fetchFile(context, field.value, target) : readObject(context, object, target));
  const { mimeType, durationSeconds } = await factsOfFile(context, field, object, target);
  if (!isAccepted(mimeType, field.accepts)) throw invalidInput('wrong_type', field.path);
  if (!isPhonePhotograph(mimeType)) return { field, file: { mimeType, path: file }, durationSeconds };
  await convertToJpeg(context, field, target);
  return { field, file: { mimeType: 'image/jpeg', path: file }, durationSeconds };
}

/** Hardly a provider reads the photographs of phones. */
async function convertToJpeg(
  { frameDecoders }: GenerationContext,
  { path: fieldPath }: MediaField,
  { file, accountId, signal }: Target,
): Promise<void> {
  try {
    const { jpeg } = await frameDecoders.run(accountId, () => jpegOf(file, signal), { signal });
    await writeFile(file, jpeg);
  } catch (error) {
    throw error instanceof UndecodableMediaError ? invalidInput('undecodable', fieldPath) : error;
  }
}

/** An object of ours was inspected when it was stored, and any other file is now. */
async function factsOfFile(
  { inspector }: GenerationContext,
  { path: fieldPath, accepts }: MediaField,
  object: InputObject | undefined,
  { file, accountId }: Target,
): Promise<Pick<FileFacts, 'mimeType' | 'durationSeconds'>> {
  if (object !== undefined) return object;
  try {
    return factsOf(await inspector.inspectFile(accountId, file));
  } catch (error) {
    if (!(error instanceof UnsupportedMediaError)) throw error;
    // A truncated header of an image that the field accepts, or a completely different type.
    const { mimeType = '', problem } = error;
    const isBroken = problem !== undefined || (mediaTypeOf(mimeType) !== undefined && isAccepted(mimeType, accepts));
    throw invalidInput(isBroken ? 'undecodable' : 'wrong_type', fieldPath);
  }
}

/** The size limit of a field's files in bytes: the largest of the kinds that it accepts. */
function largestOf(accepts: readonly string[]): number {
  const kinds = accepts.map((accepted) => accepted.split('/')[0] ?? '');
  return Math.max(...kinds.map((kind) => MAX_BYTES[kind] ?? MAX_BYTES['image'] ?? 0));
}

interface Target {
  readonly file: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly accountId: string;
  /** Its path in the input. */
  readonly fieldPath: readonly string[];
}

async function readObject(
  context: GenerationContext,
  { objectKey, sizeBytes }: InputObject,
  { file, maxBytes, signal, fieldPath }: Target,
): Promise<void> {
  if (sizeBytes > maxBytes) throw invalidInput('too_large', fieldPath);
  try {
    await pipeline(await context.store.read(objectKey), createWriteStream(file), { signal });
  } catch (error) {
    if (error instanceof ObjectNotFoundError) throw invalidInput('gone', fieldPath);
    throw error;
  }
}

async function fetchFile(
  context: GenerationContext,
  url: string,
  { file, maxBytes, signal, accountId, fieldPath }: Target,
): Promise<void> {
  if (isDataUrl(url)) {
    const inline = parseDataUrl(url);
    if (inline === undefined) throw invalidInput('undecodable', fieldPath);
    if (inline.bytes.length > maxBytes) throw invalidInput('too_large', fieldPath);
    return writeFile(file, inline.bytes);
  }
  const timeoutMs = CONNECT_MS + maxBytes / BYTES_PER_MS;
  let timeouts = 0;
  const download = async (): Promise<void> => {
    const { body } = await context.egress.download(url, { accountId, timeoutMs, maxBytes, signal });
    await pipeline(body, createWriteStream(file), { signal });
  };
  try {
    await pRetry(download, {
      retries: MAX_ATTEMPTS - 1,
      minTimeout: FIRST_PAUSE_MS,
      signal,
      shouldRetry: ({ error }) => {
        if (!(error instanceof EgressError) || isFinal(error)) return false;
        if (error.kind === 'timeout') timeouts += 1;
        return timeouts < MAX_TIMEOUTS;
      },
    });
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    if (error.cause instanceof ShareExhaustedError) busy(error.cause);
    throw invalidInput(FAULT_OF_EGRESS[error.kind], fieldPath);
  }
}

/**
 * A retry would change nothing, or must wait: rejected, missing, untrusted certificate, no free slot in the resolver.
 */
function isFinal({ kind, status = 0, isBarred, cause }: EgressError): boolean {
  if (isBarred || cause instanceof ShareExhaustedError || kind === 'tls' || kind === 'too_large') return true;
  return kind === 'status' && status < 500 && ![408, 425, 429].includes(status);
}

/** Whether the length of a field's files counts. */
function isPricedByLength({ pricing }: ModelDefinition, { accepts }: MediaField): boolean {
  return pricing.unit === 'input_second' && accepts.some((type) => /^(audio|video)\//.test(type));
}

/**
 * How long the audio and video of an input are: as they were measured, and never as a client or a provider says. What is
 * held is a bound that the caller sets, or the model: a longer file is rejected before its provider is asked to work on
 * it, and so is one that cannot be measured.
 *
 * @returns seconds.
 * @throws {GenerationFailure} `input_invalid`: they are longer than what was held pays for, or one has no length.
 */
function sumLengths(
  { input }: Pick<WorkingTask, 'input'>,
  { pricing }: ModelDefinition,
  files: readonly { readonly field: MediaField; readonly durationSeconds: number | null }[],
): number {
  let [sum, longest] = [0, 0];
  let longestPath: MediaField['path'] = [];
  for (const { field, durationSeconds } of files) {
    if (durationSeconds === null) throw invalidInput('undecodable', field.path);
    sum += durationSeconds;
    if (durationSeconds > longest) [longest, longestPath] = [durationSeconds, field.path];
  }
  const measured = decimalOf(sum.toFixed(3));
  if (measured !== undefined && isAbove(measured, quote(pricing, input).quantity)) {
    throw invalidInput('longer_than_held', longestPath);
  }
  return sum;
}
