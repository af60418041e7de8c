/**
 * Images: `POST {baseUrl}/images/generations`, and with images in the input `POST {baseUrl}/images/edits`, both
 * synchronous. Source: the openai-openapi document (CreateImageRequest, CreateImageEditRequest, ImagesResponse).
 *
 * The input's fields are the provider's own (`prompt`, `n`, `size`, `quality`, `output_format` …); the model's schema
 * defines which.
 */
import { imageTypeOf } from '@darkroom/media/image-header';
import { extensionFor } from '@darkroom/media/media-types';
import type { Consumption } from '../../domain/provider-usage.ts';
import { consumptionOf } from '../consumption.ts';
import { textAt, valueAt } from '../json-answer.ts';
import { filesOfBase64, filesOfText } from '../output-files.ts';
import { ProviderFailure } from '../provider.ts';
import type { GenerationRequest, InputFile, ProducedFile, Provider } from '../provider.ts';
import { createForm, textParts } from '../request-body.ts';
import type { FormPart } from '../request-body.ts';
import type { SubmitExchange, UpstreamCalls } from '../upstream-calls.ts';
import { rejectionReason, withoutJobs } from './conventions.ts';

/** Fields that hold the mask of an edit; every other image is one to be edited. */
const MASK_FIELDS = ['mask', 'mask_url'];

/** @param alwaysEdits whether to call for an edit without images too: some servers do both there. */
export function createImages(calls: UpstreamCalls, { alwaysEdits }: { readonly alwaysEdits: boolean }): Provider {
  return {
    ...withoutJobs(calls),

    async submit(request, call) {
      const isEdit = alwaysEdits || (request.media?.size ?? 0) > 0;
      const exchange = isEdit ? await editOf(request) : generationOf(request);
      const json = await calls.submit(request, call, { ...exchange, isSynchronous: true, rejectionReason });
      const files = filesIn(json);
      if (files.length === 0) throw new ProviderFailure('no_output');
      return { kind: 'done', files, ...tokensOf(json) };
    },
  };
}

function generationOf({ upstream, input }: GenerationRequest): SubmitExchange {
  return { path: '/images/generations', body: { ...input, ...upstream.parameters, model: upstream.model } };
}

async function editOf({ upstream, input, media = new Map() }: GenerationRequest): Promise<SubmitExchange> {
  const mediaFields = new Set([...media.keys()].map(fieldOf));
  const fields = { ...input, ...upstream.parameters, model: upstream.model };
  const form = await createForm([...textParts(fields, mediaFields), ...imageParts(media)]);
  return { path: '/images/edits', content: form };
}

function imageParts(media: ReadonlyMap<string, InputFile>): readonly FormPart[] {
  const masks = [...media].filter(([fieldPath]) => MASK_FIELDS.includes(fieldOf(fieldPath)));
  const images = [...media].filter(([fieldPath]) => !MASK_FIELDS.includes(fieldOf(fieldPath)));
  // "string or array": older models take no array.
  const name = images.length === 1 ? 'image' : 'image[]';
  return [
    ...images.map(([, file], index) => ({ name, file, fileName: `image-${index}.${extensionFor(file.mimeType)}` })),
    ...masks.map(([, file]) => ({ name: 'mask', file, fileName: `mask.${extensionFor(file.mimeType)}` })),
  ];
}

/** "usage", which only some models have. */
function tokensOf(json: unknown): Consumption {
  const usage = {
    inputTokens: valueAt(json, 'usage', 'input_tokens'),
    outputTokens: valueAt(json, 'usage', 'output_tokens'),
    totalTokens: valueAt(json, 'usage', 'total_tokens'),
  };
  return consumptionOf({ usage });
}

/** `image_urls.0` belongs to `image_urls`. */
function fieldOf(fieldPath: string): string {
  return fieldPath.split('.')[0] ?? '';
}

/**
 * "data", a list. Servers that are nearly compatible call it `images`, have one image where the document has a list, or
 * answer with the list alone.
 */
function filesIn(json: unknown): readonly ProducedFile[] {
  const places = [valueAt(json, 'data'), valueAt(json, 'images'), Array.isArray(json) ? json : []];
  return firstFiles(places.map((place) => () => [place].flat().flatMap(filesOf)));
}

/**
 * "b64_json" or "url". Servers that are nearly compatible leave the other one empty, have a URL, a data URL or base64 in
 * either, or that text in place of the image.
 */
function filesOf(image: unknown): readonly ProducedFile[] {
  const base64 = textAt(image, 'b64_json')?.trim() ?? '';
  const text = (typeof image === 'string' ? image : textAt(image, 'url'))?.trim() ?? '';
  return firstFiles([
    () => filesOfText(base64),
    () => filesOfBase64(base64),
    () => filesOfText(text),
    // A word may look like base64.
    () => filesOfBase64(text).filter((file) => file.from === 'bytes' && imageTypeOf(file.bytes) !== undefined),
  ]);
}

function firstFiles(readers: readonly (() => readonly ProducedFile[])[]): readonly ProducedFile[] {
  for (const read of readers) {
    const files = read();
    if (files.length > 0) return files;
  }
  return [];
}
