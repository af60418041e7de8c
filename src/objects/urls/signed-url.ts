/**
 * Download URLs that need no key: `{public URL}/media/{token}/{file name}` (spec §2.4, §8; contract §3), and inputs
 * that are such URLs. The token contains the output's id and the URL's end, and an HMAC over both, so that a URL is
 * checked without any query.
 *
 * Token: `v1.<outputId>.<expireAt, base 36>.<first 128 bits of HMAC-SHA256, base64url>`. The file name is for people
 * and not signed: the response comes from the output's record alone.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { deriveUrlKeys } from './url-keys.ts';
import type { UrlKeyOptions } from './url-keys.ts';

const TOKEN_VERSION = 'v1';
// Binds the derived key to this use: the same secret may sign other things.
const PURPOSE = 'darkroom/download-url/v1';
/** 5 min: repeated reads give the same URL for some minutes, so that ETag and browser caches work (contract §3). */
export const ROUNDING_SECONDS = 300;
const MAC_LENGTH = 22;
const TOKEN = /^v1\.([A-Za-z0-9_-]{1,64})\.([0-9a-z]{1,8})\.([A-Za-z0-9_-]{22})$/;
const OUTPUT_ID = /^[A-Za-z0-9_-]{1,64}$/;

export interface UrlSignerOptions extends UrlKeyOptions {
  /** Without a trailing slash and without `/v1`. */
  readonly publicUrl: string;
  /** How long a URL works at least; up to 5 min longer by rounding. */
  readonly lifetimeSeconds: number;
  /** Milliseconds since 1970, as `Date.now`. */
  readonly now?: () => number;
}

/** A download URL and its end in Unix seconds. */
export interface SignedUrl {
  readonly url: string;
  readonly expireAt: number;
}

export interface UrlSigner {
  /** The base of all our URLs: no trailing slash, no `/v1`. */
  readonly publicUrl: string;
  /** The name of the key of new URLs. */
  readonly keyId: string;
  /**
   * Signs a download URL. A few microseconds: it runs for each output of each task that is read.
   *
   * @param output its id, and `<taskId>-<n>.<ext>` as the file name; `notAfter` limits the URL's life, `expireAt`
   *   gives it another end than now plus the lifetime, both in Unix seconds; `keyId` names another key than that of
   *   new URLs, which is used where it is still accepted.
   */
  sign(output: {
    readonly outputId: string;
    readonly fileName: string;
    readonly notAfter?: number;
    readonly expireAt?: number;
    readonly keyId?: string | null;
  }): SignedUrl;
  /**
   * Returns which output a token opens.
   *
   * @throws {InvalidUrlError} the token is malformed, altered, or signed with another key.
   * @throws {ExpiredUrlError} the token is ours, and has expired.
   */
  verify(token: string): { readonly outputId: string; readonly expireAt: number };
}

/** The token is not one that we signed. */
export class InvalidUrlError extends DarkroomError {
  override readonly name = 'InvalidUrlError';
  override readonly kind = 'forbidden';

  constructor() {
    super('this download URL is not valid');
  }
}

/** The token is ours, and has expired. It is genuine, so the output may be named to its holder. */
export class ExpiredUrlError extends DarkroomError {
  override readonly name = 'ExpiredUrlError';
  override readonly kind = 'url_expired';
  readonly outputId: string;
  readonly expireAt: number;

  constructor(outputId: string, expireAt: number) {
    super('this download URL has expired');
    this.outputId = outputId;
    this.expireAt = expireAt;
  }

  override get publicMessage(): string {
    const path = /^file[_-]/.test(this.outputId) ? 'GET /v1/files/<id>' : 'GET /v1/tasks/<id>';
    return `${this.message}; ${path} gives a fresh one`;
  }
}

/** @throws {RangeError} a signing key is too short. */
export function createUrlSigner(options: UrlSignerOptions): UrlSigner {
  const now = options.now ?? Date.now;
  const base = `${options.publicUrl}/media/`;
  const keys = deriveUrlKeys(options, PURPOSE);
  return {
    publicUrl: options.publicUrl,
    keyId: keys.currentId,
    sign({ outputId, fileName, notAfter = Infinity, expireAt: end, keyId }) {
      if (!OUTPUT_ID.test(outputId)) throw new TypeError('not an output id');
      const earliest = now() / 1000 + options.lifetimeSeconds;
      const usual = Math.ceil(earliest / ROUNDING_SECONDS) * ROUNDING_SECONDS;
      const expireAt = Math.min(end ?? usual, notAfter);
      const claim = `${TOKEN_VERSION}.${outputId}.${expireAt.toString(36)}`;
      return { url: `${base}${claim}.${macOf(claim, keys.find(keyId))}/${encodeURIComponent(fileName)}`, expireAt };
    },
    verify(token) {
      const [, outputId, expiry, mac] = TOKEN.exec(token) ?? [];
      if (outputId === undefined || expiry === undefined || mac === undefined) throw new InvalidUrlError();
      const claim = token.slice(0, -MAC_LENGTH - 1);
      const given = Buffer.from(mac);
      if (!keys.accepted.some((each) => timingSafeEqual(given, Buffer.from(macOf(claim, each)))))
        throw new InvalidUrlError();
      const expireAt = Number.parseInt(expiry, 36);
      if (now() / 1000 >= expireAt) throw new ExpiredUrlError(outputId, expireAt);
      return { outputId, expireAt };
    },
  };
}

/** Compared as a string and never decoded, because different base64url strings can decode to the same bytes. */
function macOf(claim: string, key: KeyObject): string {
  return createHmac('sha256', key).update(claim).digest('base64url').slice(0, MAC_LENGTH);
}

/**
 * `darkroom:out_…`, `darkroom:file_…` or `darkroom:file-…`, and nothing else: no caller can send it
 * (tasks/record/input-media.ts).
 */
const REFERENCE = /^darkroom:((?:out_|file[_-])[0-9A-HJKMNP-TV-Z]{26})$/;

const INPUT_PREFIX = 'input-';

/** What a stored input contains instead of a URL, which would expire. */
export function referenceTo(objectId: string): string {
  return `darkroom:${objectId}`;
}

/** The id of the output or upload that a string refers to; undefined if it is no reference. */
export function referencedId(text: string): string | undefined {
  return REFERENCE.exec(text)?.[1];
}

/**
 * From a URL that this service signed back to the object that it opens, so that one task can use what another made
 * (contract §7 "Uploads").
 *
 * @returns the id of the output or upload that it opens; undefined where it is not below `{public URL}/media/`.
 * @throws {InvalidUrlError} it is below that, and we did not sign it.
 * @throws {ExpiredUrlError} it has expired.
 */
export function ownObjectId(url: string, signer: UrlSigner): string | undefined {
  // The URL parser drops tabs and line breaks and turns backslashes: what it made of them is not what was sent.
  if (/[\s\\\p{Cc}]/u.test(url) || !URL.canParse(url)) return undefined;
  const base = new URL(`${signer.publicUrl}/media/`).href;
  const { href } = new URL(url);
  if (!href.startsWith(base)) return undefined;
  const [token = ''] = href.slice(base.length).split(/[/?#]/, 1);
  return signer.verify(token).outputId;
}

/**
 * What a URL is signed for by which a provider fetches an input: it opens the object as long as a task needs it, even
 * where its owner has deleted it since. Only providers get such a URL.
 */
export function signedInputId(objectId: string): string {
  return `${INPUT_PREFIX}${objectId}`;
}

/** The object that such a URL opens; undefined where it is another kind of URL. */
export function inputObjectId(signedId: string): string | undefined {
  return signedId.startsWith(INPUT_PREFIX) ? signedId.slice(INPUT_PREFIX.length) : undefined;
}
