/**
 * The input of a task, made from options of the AI SDK by the schema of the model: an option goes into the field that
 * the model has for it. An option without a field is a warning, as the AI SDK wants it; whether a value is one of the
 * field is decided by the service.
 */
import type { SharedV4Warning } from '@ai-sdk/provider';
import type { Darkroom } from '@darkroom/sdk';

/** A file of the AI SDK, of images and videos alike. */
export type GivenFile =
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: string };

interface FieldSchema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly maximum?: unknown;
}

/** The names under which models take files. */
export const FILE_FIELDS = {
  image: ['image_urls', 'image_url', 'first_frame_url', 'input_reference'],
  mask: ['mask_url'],
  firstFrame: ['first_frame_url', 'image_url', 'image_urls'],
  lastFrame: ['last_frame_url', 'end_image_url'],
  reference: ['reference_image_urls', 'image_urls', 'image_url'],
} as const;

export class TaskInput {
  readonly values: Record<string, unknown> = {};
  readonly warnings: SharedV4Warning[] = [];
  readonly #client: Darkroom;
  readonly #fields: Readonly<Record<string, FieldSchema>>;

  /** @param schema of the model's input. */
  constructor(client: Darkroom, schema: Readonly<Record<string, unknown>>) {
    this.#client = client;
    this.#fields = (schema['properties'] ?? {}) as Readonly<Record<string, FieldSchema>>;
  }

  /** Adds an option to the first of these fields that the model has. */
  add(option: string, fields: readonly string[], value: unknown): void {
    if (value === undefined) return;
    const field = fields.find((name) => Object.hasOwn(this.#fields, name));
    if (field === undefined) this.#warn(option, `the model has no field ${fields.join(' or ')}`);
    else this.values[field] = value;
  }

  /** Adds a size as the model has it: as a whole, as width and height, or as the nearest thing to it. */
  addSize(option: string, size: `${number}x${number}` | undefined): void {
    if (size === undefined) return;
    const [width = 0, height = 0] = size.split('x').map(Number);
    if (this.#takes('size', size)) {
      this.values['size'] = size;
    } else if (this.#has('width') && this.#has('height')) {
      Object.assign(this.values, { width, height });
    } else {
      const resolution = `${Math.min(width, height)}p`;
      const ratio = ratioOf(width, height);
      const nearest = {
        ...(this.#takes('resolution', resolution) ? { resolution } : {}),
        ...(this.#takes('aspect_ratio', ratio) && this.values['aspect_ratio'] === undefined
          ? { aspect_ratio: ratio }
          : {}),
      };
      Object.assign(this.values, nearest);
      const sent = Object.entries(nearest).map(([name, value]) => `${name} ${value}`);
      if (sent.length === 0) this.#warn(option, `the model has no size, and no aspect ratio ${ratio}`);
      else this.warnings.push({ type: 'compatibility', feature: option, details: `sent as ${sent.join(', ')}` });
    }
  }

  /** Adds files by their URLs; bytes are uploaded first. */
  async addFiles(
    option: string,
    fields: readonly string[],
    files: readonly GivenFile[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (files === undefined || files.length === 0) return;
    const field = fields.find((name) => this.#has(name) && this.values[name] === undefined);
    if (field === undefined) {
      this.#warn(option, `the model has no field ${fields.join(' or ')}`);
      return;
    }
    const isList = this.#fields[field]?.type === 'array';
    if (!isList && files.length > 1)
      this.#warn(option, `the model takes one: the other ${files.length - 1} are left out`);
    const used = isList ? files : files.slice(0, 1);
    const urls = await Promise.all(used.map((file) => this.#urlOf(file, signal)));
    this.values[field] = isList ? urls : urls[0];
  }

  /** Adds fields of the model as they are; they come before what was made from options. */
  addOwn(options: Readonly<Record<string, unknown>> | undefined): void {
    Object.assign(this.values, options);
  }

  #has(field: string): boolean {
    return Object.hasOwn(this.#fields, field);
  }

  /** Whether the model has the field, and its list of values, if there is one, has this value. */
  #takes(field: string, value: string): boolean {
    const values = this.#fields[field]?.enum;
    return this.#has(field) && (!Array.isArray(values) || values.includes(value));
  }

  #warn(feature: string, details: string): void {
    this.warnings.push({ type: 'unsupported', feature, details });
  }

  async #urlOf(file: GivenFile, signal: AbortSignal | undefined): Promise<string> {
    if (file.type === 'url') return file.url;
    const bytes = bytesOf(file.data);
    const { url } = await this.#client.upload(new Blob([bytes], { type: file.mediaType }), { signal });
    return url;
  }
}

/** How many outputs one task of a model can have. */
export function mostOutputs(schema: Readonly<Record<string, unknown>>): number {
  const { n } = (schema['properties'] ?? {}) as Readonly<Record<string, FieldSchema>>;
  return typeof n?.maximum === 'number' ? n.maximum : 1;
}

/** @param data bytes, or base64. */
export function bytesOf(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  if (typeof data !== 'string') return new Uint8Array(data);
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

function ratioOf(width: number, height: number): string {
  const divisor = greatestDivisor(width, height);
  return `${width / divisor}:${height / divisor}`;
}

function greatestDivisor(first: number, second: number): number {
  return second === 0 ? first : greatestDivisor(second, first % second);
}
