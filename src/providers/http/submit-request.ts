/**
 * The request of a submit, from a binding's expressions: uploads the files that go ahead of it, and puts the others
 * into its body. Nothing here is a submit, so that everything that fails is a rejection: no work was accepted.
 */
import { createReadStream } from 'node:fs';
import { DEFAULT_RETRY_AFTER_MS, reasonOfStatus } from '../answer-status.ts';
import { assertMediaFit, withValues } from '../inline-media.ts';
import { ProviderRejection } from '../provider.ts';
import type { GenerationRequest, InputFile, SubmitCall } from '../provider.ts';
import { createForm, jsonBody } from '../request-body.ts';
import type { FormPart, RequestBody } from '../request-body.ts';
import type { UpstreamCalls } from '../upstream-calls.ts';
import type { Address } from '../upstream-target.ts';
import { queryAhead, scopeOf, sendAhead, unbound } from './ahead-of-submit.ts';
import { FORM_PART_NAME } from './binding.ts';
import type { FormPartBinding, HttpBinding, UploadBinding } from './binding.ts';
import { createMediaInputs } from './media-inputs.ts';
import type { MediaValue } from './media-inputs.ts';
import { inputOf } from './model-file.ts';
import type { ExpressionContext, ModelFile, RequestValues } from './model-file.ts';
import { addressOf, headerOf } from './values.ts';

/** A request that can be sent. */
export interface BoundRequest {
  readonly path: Address;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: RequestBody;
}

/** Those that say the same of the file wherever it goes. Any other of a storage host may be about a form that expired. */
const REJECTED_FILES: readonly number[] = [413, 415, 422];

/** How often a file is uploaded from the beginning, within the time of the task, while its storage host rejects it. */
const MAX_UPLOADS = 3;

const PART_NAME = new RegExp(FORM_PART_NAME);

/** The fields whose files a binding needs here, and not as URLs. */
export function fieldsWithFiles({ media = {}, submit }: HttpBinding): ReadonlySet<string> {
  const inForm = (submit.form ?? []).flatMap(({ media: field }) => field ?? []);
  const staged = Object.entries(media).flatMap(([field, mode]) => (mode === 'url' ? [] : [field]));
  return new Set([...inForm, ...staged]);
}

/**
 * Uploads the files that go ahead of a submit.
 *
 * @returns what the provider calls them, by their position in the input.
 * @throws {ProviderRejection} a file could not be uploaded, or the model file gives no request for it.
 */
export async function uploadFiles(
  request: GenerationRequest,
  http: HttpBinding,
  call: SubmitCall,
  { file, calls }: { readonly file: ModelFile; readonly calls: UpstreamCalls },
): Promise<ReadonlyMap<string, unknown>> {
  const references = new Map<string, unknown>();
  const { media: modes = {}, upload } = http;
  if (upload === undefined) return references;
  const files = new Map([...(request.media ?? [])].filter(([fieldPath]) => modes[fieldOf(fieldPath)] === 'upload'));
  const media = await createMediaInputs(files);
  for (const [fieldPath, value] of media.values) {
    const source = files.get(fieldPath);
    if (source === undefined) continue;
    const { mimeType, name, byteLength } = value;
    const context = { document: inputOf(request), file: { mimeType, name, byteLength } };
    const contentOf: Uploading['contentOf'] = async (form, { form: values }) =>
      form === undefined
        ? { contentType: mimeType, body: createReadStream(source.path), byteLength }
        : createForm(formPartsOf(form, values, () => [], { file: source, fileName: name }));
    references.set(fieldPath, await uploadFile({ request, upload, call, file, calls, http, context, contentOf }));
  }
  return references;
}

/**
 * @param request with the `references` of its uploads; without any, they are uploaded first.
 * @throws {ProviderRejection} the files are too large together, a file could not be uploaded, or the model file gives
 *   no request for this input.
 */
export async function bindSubmit(
  request: GenerationRequest,
  http: HttpBinding,
  call: SubmitCall,
  { file, calls }: { readonly file: ModelFile; readonly calls: UpstreamCalls },
): Promise<BoundRequest> {
  const { media: files = new Map<string, InputFile>() } = request;
  const { media: modes = {}, submit } = http;
  const modeOf = (fieldPath: string) => modes[fieldOf(fieldPath)];
  const needed = new Map([...files].filter(([fieldPath]) => modeOf(fieldPath) !== 'upload'));
  await assertMediaFit(needed);
  const media = await createMediaInputs(files);
  const references = request.references ?? (await uploadFiles(request, http, call, { file, calls }));

  const inputs = new Map<string, unknown>();
  const values = new Map<string, MediaValue>(media.values);
  for (const [fieldPath, value] of media.values) {
    if (modeOf(fieldPath) === 'inline') inputs.set(fieldPath, value.dataUrl);
    if (!references.has(fieldPath)) continue;
    const reference = references.get(fieldPath);
    inputs.set(fieldPath, reference);
    values.set(fieldPath, { ...value, reference });
  }

  const input = withValues(inputOf(request), inputs);
  const { hookUrl, hookSecret } = call;
  const context = { hookUrl, hookSecret, document: input, input, media: withValues(inputOf(request), values) };
  const texts = { path: submit.path, body: submit.body, headers: submit.headers, form: submit.form };
  const parts = await file.readRequest(request, texts, context, 'submit');
  const address = addressOf(parts.address, scopeOf(request, http));
  if (address === undefined) throw unbound('submit.path', parts.address);
  const headers = { ...http.headers, ...headersOf(parts.headers) };
  if (submit.form !== undefined) {
    const form = formPartsOf(submit.form, parts.form, (field) =>
      [...files]
        .filter(([fieldPath]) => fieldOf(fieldPath) === field)
        .map(([fieldPath, one]) => ({
          file: one,
          fileName: media.values.get(fieldPath)?.name ?? 'file',
        })),
    );
    if (form.some((part) => 'text' in part && media.hasMarker(part.text))) throw unbound('submit.form');
    return { path: address, headers, content: await createForm(form) };
  }
  if (parts.body === undefined) throw unbound('submit.body');
  if (media.hasMarker(`${String(address)}${Object.values(headers).join('')}`)) throw unbound('submit.path');
  return { path: address, headers, content: media.bodyOf(parts.body) };
}

/** What the upload of a file needs. */
interface Uploading {
  readonly request: GenerationRequest;
  readonly upload: UploadBinding;
  readonly call: SubmitCall;
  readonly file: ModelFile;
  readonly calls: UpstreamCalls;
  readonly http: HttpBinding;
  readonly context: ExpressionContext;
  /** The file as a form, or its bytes. */
  readonly contentOf: (form: readonly FormPartBinding[] | undefined, values: RequestValues) => Promise<RequestBody>;
}

/**
 * Uploads one file, from the beginning again if the storage host rejects what the provider has issued for it: it may
 * have expired, or been used by an attempt of which the response was lost.
 *
 * @returns what the provider calls it.
 */
async function uploadFile(uploading: Uploading): Promise<unknown> {
  const { request, upload, file, context } = uploading;
  for (let uploads = 1; ; uploads++) {
    const document = await sendFirst(uploading);
    const rejected = upload.send === undefined ? undefined : await sendNext(uploading, upload.send, document);
    if (rejected === undefined) {
      const values = await file.read(request, { reference: upload.reference }, { ...context, document }, 'upload');
      if (values.reference === undefined) throw unbound('upload.reference');
      return values.reference;
    }
    if (uploads === MAX_UPLOADS || REJECTED_FILES.includes(rejected)) throw rejectedFile(rejected);
  }
}

/** @returns the JSON of the response. @throws {ProviderRejection} */
async function sendFirst(uploading: Uploading): Promise<unknown> {
  const { request, upload, call, file, calls, http, context, contentOf } = uploading;
  const { path, body, headers, form } = upload;
  const values = await file.readRequest(request, { path, body, headers, form }, context, 'upload');
  const address = addressOf(values.address, scopeOf(request, http));
  if (address === undefined) throw unbound('upload.path', values.address);
  if (body !== undefined && values.body === undefined) throw unbound('upload.body');
  const exchange = {
    method: upload.method ?? 'POST',
    path: address,
    headers: { ...http.headers, ...headersOf(values.headers) },
    content: body === undefined ? await contentOf(form, values) : jsonBody(values.body),
    isBodyOptional: false,
  };
  return sendAhead('upload', request, { calls, call }, exchange);
}

/**
 * Sends the file to where the first response says.
 *
 * @returns the status with which it was rejected, if it was. @throws {ProviderRejection}
 */
async function sendNext(
  uploading: Uploading,
  next: NonNullable<UploadBinding['send']>,
  document: unknown,
): Promise<number | undefined> {
  const { request, call, file, calls, http, context, contentOf } = uploading;
  const { url, headers, form } = next;
  const texts = { url, headers, form };
  const values = await file.readRequest(request, texts, { ...context, document }, 'upload.send');
  const address = addressOf(values.address, scopeOf(request, http));
  if (address === undefined) throw unbound('upload.send.url', values.address);
  const exchange = {
    method: next.method ?? 'PUT',
    path: address,
    headers: headersOf(values.headers),
    content: await contentOf(form, values),
    isBodyOptional: true,
    isAnonymous: next.receivesCredential === false,
  };
  const { status } = await queryAhead('upload', request, { calls, call }, exchange);
  return status < 400 ? undefined : status;
}

/** Nothing about our credential or the model: the storage host is another service, or was sent an expired form. */
function rejectedFile(status: number): ProviderRejection {
  const note = `the file of an upload was rejected with ${status} where upload.send sent it`;
  if (reasonOfStatus(status) === 'input_invalid') return new ProviderRejection('input_invalid', { note });
  return new ProviderRejection('provider_unavailable', { retryAfterMs: DEFAULT_RETRY_AFTER_MS, note });
}

function formPartsOf(
  parts: readonly FormPartBinding[],
  values: readonly unknown[],
  filesOf: (field: string) => readonly { readonly file: InputFile; readonly fileName: string }[],
  uploaded?: { readonly file: InputFile; readonly fileName: string },
): readonly FormPart[] {
  return parts.flatMap(({ name = '', fields, media, isFile }, index): readonly FormPart[] => {
    if (isFile === true) return uploaded === undefined ? [] : [{ name, ...uploaded }];
    if (media !== undefined) return filesOf(media).map((one) => ({ name, ...one }));
    const value = values[index];
    if (fields === undefined) return textPartsOf(name, value);
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([field, text]) => textPartsOf(field, text));
  });
}

/** Those of a name that a form can have; `fields` takes names from responses. */
function textPartsOf(name: string, value: unknown): readonly FormPart[] {
  if (value === undefined || value === null || !PART_NAME.test(name)) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => textPartsOf(name, item));
  return [{ name, text: typeof value === 'string' ? value : JSON.stringify(value) }];
}

/** Those that can be sent; the others are omitted. */
function headersOf(values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const text = headerOf(value);
      return text === undefined ? [] : [[name, text] as const];
    }),
  );
}

/** `image_urls.0` belongs to `image_urls`. */
function fieldOf(fieldPath: string): string {
  return fieldPath.split('.')[0] ?? '';
}
