/**
 * Brings the media of a task's input to where its provider can take them: a reference to an object of ours becomes a
 * URL that opens it until the task's deadline, or, for a provider that fetches nothing itself, all media become bytes.
 * Own objects come from the store and never over the network (contract §7 "Uploads").
 */
import { Context } from '@temporalio/activity';
import { EgressError } from '../src/egress/egress-error.ts';
import { extensionFor } from '../src/files/media-types.ts';
import { ObjectNotFoundError } from '../src/files/object-store.ts';
import { referencedId, signedInputId } from '../src/files/own-url.ts';
import { UnsupportedMediaError, inspectBytes } from '../src/media/inspect.ts';
import type { GenerationRequest, InputFile } from '../src/providers/provider.ts';
import { isAccepted, mediaOf, withTexts } from '../src/tasks/input-media.ts';
import type { MediaField } from '../src/tasks/input-media.ts';
import { findInputObjects } from '../src/tasks/input-objects.ts';
import type { InputObject } from '../src/tasks/input-objects.ts';
import type { WorkingTask } from '../src/tasks/work.ts';
import type { ActivityContext } from './context.ts';
import { passing, permanent } from './failures.ts';
import type { TaskRoute } from './task-route.ts';

/** Of one file that is taken into memory. */
const MAX_FILE_BYTES = 50_000_000;
const DOWNLOAD_TIMEOUT_MS = 60_000;
/** A server that does not answer this often is told to the caller: it is his address. */
const MAX_ATTEMPTS = 4;

/**
 * What the provider is given of a task.
 *
 * @throws {ApplicationFailure} `input_unreachable`: a file could not be fetched; `input_invalid`: it is too large, or not
 *   of a kind that its field takes.
 */
export async function stageInputs(
  context: ActivityContext,
  task: WorkingTask,
  route: TaskRoute,
  signal: AbortSignal,
): Promise<GenerationRequest> {
  const { request, provider, definition } = route;
  const fields = mediaOf(definition.inputSchema, task.input);
  if (fields.length === 0) return request;
  const ids = fields.flatMap(({ value }) => referencedId(value) ?? []);
  const objects = await findInputObjects(context.database, ids);
  if (provider.takesMediaAsBytes !== true) return { ...request, input: withUrls(context, task, fields, objects) };

  const media = new Map<string, InputFile>();
  for (const field of fields) {
    media.set(field.path.join('.'), await load(context, field, objects, signal));
  }
  return { ...request, media };
}

/** The same for every attempt of a task: a provider that knows our task id compares what it is sent under it. */
function withUrls(
  context: ActivityContext,
  task: WorkingTask,
  fields: readonly MediaField[],
  objects: ReadonlyMap<string, InputObject>,
): WorkingTask['input'] {
  const texts = new Map<readonly string[], string>();
  for (const { path, value } of fields) {
    const object = referenced(value, objects);
    if (object === undefined) continue;
    const { url } = context.urlSigner.sign({
      outputId: signedInputId(object.id),
      fileName: `${object.id}.${extensionFor(object.mimeType)}`,
      ...(task.deadlineSeconds === null ? {} : { expireAt: task.deadlineSeconds }),
    });
    texts.set(path, url);
  }
  return withTexts(task.input, texts);
}

/** @throws {ApplicationFailure} there never was such an object: the database was replaced under a running task. */
function referenced(value: string, objects: ReadonlyMap<string, InputObject>): InputObject | undefined {
  const id = referencedId(value);
  if (id === undefined) return undefined;
  const object = objects.get(id);
  if (object === undefined) throw permanent('input_unreachable');
  return object;
}

async function load(
  context: ActivityContext,
  field: MediaField,
  objects: ReadonlyMap<string, InputObject>,
  signal: AbortSignal,
): Promise<InputFile> {
  const object = referenced(field.value, objects);
  const bytes = await (object === undefined ? fetchBytes(context, field.value, signal) : readBytes(context, object));
  try {
    const { mimeType } = await inspectBytes(bytes);
    if (!isAccepted(mimeType, field.accepts)) throw permanent('input_invalid');
    return { mimeType, bytes };
  } catch (error) {
    if (error instanceof UnsupportedMediaError) throw permanent('input_invalid');
    throw error;
  }
}

async function readBytes(context: ActivityContext, { objectKey, sizeBytes }: InputObject): Promise<Buffer> {
  if (sizeBytes > MAX_FILE_BYTES) throw permanent('input_invalid');
  try {
    return await collect(await context.store.read(objectKey));
  } catch (error) {
    if (error instanceof ObjectNotFoundError) throw permanent('input_unreachable');
    throw error;
  }
}

async function fetchBytes(context: ActivityContext, url: string, signal: AbortSignal): Promise<Buffer> {
  // Only where the schema's pattern lets it in (tasks/input-media.ts).
  const base64 = /^data:[^,]*;base64,/i.exec(url);
  if (base64 !== null) return Buffer.from(url.slice(base64[0].length), 'base64');
  try {
    const options = { timeoutMs: DOWNLOAD_TIMEOUT_MS, maxBytes: MAX_FILE_BYTES, signal };
    return await collect((await context.egress.download(url, options)).body);
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    if (error.kind === 'too_large') throw permanent('input_invalid');
    const isLast = isFinal(error) || Context.current().info.attempt >= MAX_ATTEMPTS;
    throw isLast ? permanent('input_unreachable') : passing('input_unreachable');
  }
}

/** Asking again brings nothing else: refused, missing, no trusted certificate. */
function isFinal({ kind, status = 0 }: EgressError): boolean {
  if (kind === 'tls') return true;
  return kind === 'status' && status < 500 && ![408, 425, 429].includes(status);
}

async function collect(body: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
