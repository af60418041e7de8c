/**
 * The URLs that providers may call back: `{public URL}/hooks/{upstream}/{token}` (contract, "Conventions"). The token
 * is the task's id and an HMAC over it and the upstream's name, so that a forged one is detected without a query.
 * Whether a provider's own signature is verified too is declared in the model file (src/providers/hooks/).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { isTaskId } from '../domain/workflow-ids.ts';
import type { TaskId } from '../domain/workflow-ids.ts';
import { deriveUrlKeys } from '../objects/urls/url-keys.ts';
import type { UrlKeyOptions } from '../objects/urls/url-keys.ts';

// Binds the derived key to this use: the same secret signs other things.
const PURPOSE = 'darkroom/provider-hook/v1';
const SECRET_PURPOSE = 'darkroom/provider-hook-secret/v1';
/** The length of the MAC in characters: 128 bits in base64url. */
const MAC_LENGTH = 22;
const TOKEN = /^(tk-svc-[0-9A-Z]{26})\.([A-Za-z0-9_-]{22})$/;

export interface HookUrls {
  /**
   * The URL that an upstream can call back about a task.
   *
   * @param upstream its name and its base URL.
   * @param keyId names the key to sign with, if it is still accepted; default: that of new URLs.
   * @returns undefined if the upstream cannot be expected to reach us.
   */
  urlFor(
    upstream: { readonly name: string; readonly baseUrl?: string | undefined },
    taskId: TaskId,
    keyId?: string | null,
  ): string | undefined;
  /** The task that a token belongs to; undefined: we did not make it for that upstream. */
  taskOf(upstreamName: string, token: string): TaskId | undefined;
  /** The secret with which an upstream can sign its calls about a task. @param keyId as for the URL. */
  secretFor(upstreamName: string, taskId: TaskId, keyId?: string | null): string;
  /** The secrets that an upstream may have been given for a task. */
  secretsOf(upstreamName: string, taskId: TaskId): readonly string[];
}

export interface HookUrlOptions extends UrlKeyOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string;
}

/** @throws {RangeError} a signing key is too short. */
export function createHookUrls({ publicUrl, ...options }: HookUrlOptions): HookUrls {
  const keys = deriveUrlKeys(options, PURPOSE);
  const secretKeys = deriveUrlKeys(options, SECRET_PURPOSE);
  return {
    urlFor({ name, baseUrl }, taskId, keyId) {
      if (baseUrl === undefined || !canReach(new URL(baseUrl), new URL(publicUrl))) return undefined;
      return `${publicUrl}/hooks/${encodeURIComponent(name)}/${taskId}.${macOf(keys.find(keyId), name, taskId)}`;
    },
    taskOf(upstreamName, token) {
      const [, taskId = '', mac = ''] = TOKEN.exec(token) ?? [];
      if (!isTaskId(taskId)) return undefined;
      const given = Buffer.from(mac);
      const isOurs = keys.accepted.some((each) =>
        timingSafeEqual(given, Buffer.from(macOf(each, upstreamName, taskId))),
      );
      return isOurs ? taskId : undefined;
    },
    secretFor: (upstreamName, taskId, keyId) => secretOf(secretKeys.find(keyId), upstreamName, taskId),
    secretsOf: (upstreamName, taskId) => secretKeys.accepted.map((each) => secretOf(each, upstreamName, taskId)),
  };
}

function macOf(key: KeyObject, upstreamName: string, taskId: string): string {
  return secretOf(key, upstreamName, taskId).slice(0, MAC_LENGTH);
}

function secretOf(key: KeyObject, upstreamName: string, taskId: string): string {
  return createHmac('sha256', key).update(`${upstreamName}\n${taskId}`).digest('base64url');
}

/**
 * A public service accepts https addresses only, and an address on this machine's loopback can be reached from this
 * machine alone. An upstream that cannot reach us nevertheless does no harm: it is polled as usual.
 */
function canReach(upstream: URL, us: URL): boolean {
  if (us.protocol === 'http:' && upstream.protocol === 'https:') return false;
  return !isLoopback(us) || isLoopback(upstream);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}
