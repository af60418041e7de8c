/**
 * A test delivery (contract §7 `POST /account/webhook-key/test`): one request like that of a callback, sent at once
 * and without a schedule, so that a receiver can be tried before the first task.
 */
import { EgressError } from '../egress/egress-error.ts';
import type { Egress } from '../egress/guarded-client.ts';
import type { CallbackToSign } from './signing.ts';
import { signCallback } from './signing.ts';

/** The time limit of the exchange. Spec §6.2: the receiver responds within 10 s. */
const EXCHANGE_TIMEOUT_MS = 10_000;
/**
 * The maximum number of bytes that are read of the receiver's response. Contract §6: "We read at most 64 kB of the
 * reply".
 */
const MAX_REPLY_BYTES = 64 * 1024;

/** The result of a test delivery; of the response, only its status. */
export interface TestDelivery {
  readonly isDelivered: boolean;
  readonly httpStatus?: number;
  readonly errorClass?: 'tls' | 'timeout' | 'unreachable';
  readonly durationMs: number;
  readonly isSigned: boolean;
}

/** @param url validated as a callback URL by the caller; every address that it leads to is checked again here. */
export async function sendTestDelivery(
  egress: Egress,
  { url, accountId }: { readonly url: string; readonly accountId: string },
  callback: CallbackToSign,
): Promise<TestDelivery> {
  const isSigned = callback.secrets.length > 0;
  const startedAt = performance.now();
  const spent = () => ({ durationMs: Math.round(performance.now() - startedAt), isSigned });
  try {
    const { status } = await egress.post(url, {
      accountId,
      headers: { 'content-type': 'application/json', ...signCallback(callback) },
      body: callback.body,
      timeoutMs: EXCHANGE_TIMEOUT_MS,
      maxResponseBytes: MAX_REPLY_BYTES,
    });
    return { isDelivered: status >= 200 && status < 300, httpStatus: status, ...spent() };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const errorClass = error.kind === 'tls' || error.kind === 'timeout' ? error.kind : 'unreachable';
    return { isDelivered: false, errorClass, ...spent() };
  }
}
