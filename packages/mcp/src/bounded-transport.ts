/**
 * A transport of the SDK that sends nothing larger than clients accept: the length of the SDK's own answers, such as
 * those that list all errors in the arguments of a tool, depends on the caller.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { rpcErrorData } from '@darkroom/api/mcp/json-rpc';
import { MAX_RESULT_BYTES, bounded, resultBytes } from './tool-result.ts';

const MAX_ERROR_CHARACTERS = 2_000;

/** For errors without a code of the API: rejected requests have their own (incoming-message.ts). */
const FAULT = rpcErrorData('internal');

/** @param take returns what the server gets of an incoming message; default: all of it. */
export function boundedTransport(
  inner: Transport,
  take: (message: JSONRPCMessage) => JSONRPCMessage | undefined = (message) => message,
): Transport {
  const outer: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    send: (message, options) => inner.send(boundedMessage(message), options),
  };
  const listeners: Pick<Transport, 'onclose' | 'onerror' | 'onmessage'> = {
    onclose: () => outer.onclose?.(),
    onerror: (error) => outer.onerror?.(error),
    onmessage(message, extra) {
      const taken = take(message);
      if (taken !== undefined) outer.onmessage?.(taken, extra);
    },
  };
  Object.assign(inner, listeners);
  return outer;
}

function boundedMessage(message: JSONRPCMessage): JSONRPCMessage {
  if ('error' in message) {
    const { error } = message;
    const cutMessage = error.message.slice(0, MAX_ERROR_CHARACTERS);
    return { ...message, error: { ...error, message: cutMessage, data: error.data ?? FAULT } };
  }
  // Only the results of tools can be that large.
  if (!('result' in message) || resultBytes(message.result) <= MAX_RESULT_BYTES) return message;
  return { ...message, result: bounded(CallToolResultSchema.parse(message.result)) };
}
