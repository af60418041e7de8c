/**
 * Data URLs (RFC 2397) and base64, read by one function wherever a client or a provider has a file in a text. Strict:
 * what cannot be read completely is rejected, because a decoder that skips what it does not know delivers a damaged
 * file. Linear, and without a call for each character: a text may have many megabytes of escape sequences.
 */
import { imageTypeOf } from '@darkroom/media/image-header';

/** A file inside a URL. */
export interface DataUrl {
  /**
   * As the URL claims, lower case, without parameters; `text/plain` if it claims nothing. Where it claims no image, audio
   * or video, that of the image that the bytes are.
   */
  readonly mimeType: string;
  readonly bytes: Buffer;
}

interface Head {
  readonly mimeType: string;
  readonly isBase64: boolean;
  /** Where the data begins. */
  readonly end: number;
}

/** Names that people write for a type that has another one. */
const ALIASES: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg', 'audio/mp3': 'audio/mpeg' };
/** A media type, or parameters, of this length are none. */
const MAX_HEADER = 256;

/** As everywhere in URLs, white space before it counts for nothing; within reason, because a text may be long. */
export function isDataUrl(text: string): boolean {
  return /^[\t\n\f\r ]*data:/i.test(text.slice(0, MAX_HEADER));
}

/** Whether a data URL says that its data is base64: hardly any other has a file. */
export function isBase64DataUrl(text: string): boolean {
  return headOf(text.trim())?.isBase64 === true;
}

/** Whether a data URL claims to be a photograph of a phone (HEIC, HEIF), which most models do not read. */
export function isPhonePhotographUrl(text: string): boolean {
  return /^[\t\n\f\r ]*data:image\/hei[cf]\b/i.test(text.slice(0, MAX_HEADER));
}

/** Whether a data URL has the one spelling that schemas and upstreams know: `formatDataUrl` would return the same. */
export function isPlainDataUrl(text: string): boolean {
  const isSpelled =
    /^data:(?!image\/jpg;|audio\/mp3;)(?:image|audio|video)\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(text);
  return isSpelled && (text.length - text.indexOf(',') - 1) % 4 === 0;
}

/**
 * Reads a data URL: white space around it, any spelling of `data:` and `;base64`, any parameters, base64 or
 * percent-encoded.
 *
 * @returns undefined: it is malformed, or its data is no base64 although it says so.
 */
export function parseDataUrl(text: string): DataUrl | undefined {
  const url = text.trim();
  const head = headOf(url);
  if (head === undefined) return undefined;
  const { mimeType: claimed, isBase64, end } = head;
  const data = unescaped(url.slice(end));
  const bytes = data === undefined || !isBase64 ? toBytes(data) : decodeBase64(data);
  if (bytes === undefined) return undefined;
  const isSaid = /^(?:image|audio|video)\//.test(claimed);
  return { mimeType: (isSaid ? undefined : imageTypeOf(bytes)) ?? ALIASES[claimed] ?? claimed, bytes };
}

/** The same file as a URL of one spelling. */
export function formatDataUrl({ mimeType, bytes }: DataUrl): string {
  return `data:${mimeType};base64,${bytes.toString('base64')}`;
}

/** @returns undefined: it is malformed. */
function headOf(url: string): Head | undefined {
  // A comma ends it, unless it is in quotes.
  const [whole = '', content = ''] = /^data:((?:[^",]|"[^"]*")*),/i.exec(url.slice(0, MAX_HEADER)) ?? [];
  if (whole === '') return undefined;
  const [type = '', ...parameters] = partsOf(content);
  const mimeType = type === '' ? 'text/plain' : type;
  if (!/^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(mimeType)) return undefined;
  const isBase64 = parameters.at(-1) === 'base64';
  const end = whole.length;
  // The comma was one in a parameter that should have quotes: what follows is no data.
  const [rest = '', next] = url.slice(end, end + MAX_HEADER).split(',', 2);
  if (!isBase64 && next !== undefined && partsOf(rest).slice(1).at(-1) === 'base64') return undefined;
  return { mimeType, isBase64, end };
}

function partsOf(head: string): readonly string[] {
  return head.split(';').map((part) => part.trim().toLowerCase());
}

const PERCENT = 0x25;
/** By the code of a character: its value as a hexadecimal digit, or -1, and whether it is white space. */
const HEX_VALUES = Int8Array.from({ length: 256 }, (_, code) => '0123456789abcdef'.indexOf(lowerCase(code)));
const IS_SPACE = Array.from({ length: 256 }, (_, code) => '\t\n\f\r '.includes(lowerCase(code)));

function lowerCase(code: number): string {
  return String.fromCharCode(code).toLowerCase();
}

/** @returns one character for each byte; undefined: an escape sequence is incomplete. */
function unescaped(text: string): string | undefined {
  if (!text.includes('%')) return text;
  const bytes = toBytes(text);
  if (bytes === undefined) return undefined;
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0;
    if (byte === PERCENT) {
      const high = HEX_VALUES[bytes[at + 1] ?? 0] ?? -1;
      const low = HEX_VALUES[bytes[at + 2] ?? 0] ?? -1;
      if (high < 0 || low < 0) return undefined;
      byte = high * 16 + low;
      at += 2;
    }
    bytes[length++] = byte;
  }
  return bytes.toString('latin1', 0, length);
}

/** @returns undefined: a character has no place in a URL. */
function toBytes(data: string | undefined): Buffer | undefined {
  return data === undefined || /[\u0100-\uffff]/.test(data) ? undefined : Buffer.from(data, 'latin1');
}

/**
 * Decodes base64 of either alphabet (RFC 4648, §4 and §5), with or without its padding. White space, which many encoders
 * put between lines, counts for nothing.
 *
 * @returns undefined: it is not base64.
 */
export function decodeBase64(text: string): Buffer | undefined {
  // The decoder reads the lower half of such a character.
  if (/[\u0100-\uffff]/.test(text)) return undefined;
  const dense = /[\t\n\f\r ]/.test(text) ? withoutSpace(text) : text;
  const digits = dense.endsWith('==') ? dense.length - 2 : dense.endsWith('=') ? dense.length - 1 : dense.length;
  if (digits % 4 === 1 || (digits !== dense.length && dense.length % 4 !== 0)) return undefined;
  // The decoder skips what is none.
  const bytes = Buffer.from(dense, 'base64');
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : undefined;
}

function withoutSpace(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (IS_SPACE[byte] !== true) bytes[length++] = byte;
  }
  return bytes.toString('latin1', 0, length);
}
