/**
 * Filters messages before the SDK sees them. The SDK lists every error of every element, which for a large message
 * takes seconds and makes an answer larger than clients accept, and it reports a client's error as a fault of the
 * server. Here the first error is enough, and only what the server needs is passed on.
 */
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { rpcErrorData } from '@darkroom/api/mcp/json-rpc';
import type { RpcErrorData } from '@darkroom/api/mcp/json-rpc';

type Members = Readonly<Record<string, unknown>>;

/** The JSON-RPC code for an unknown method (§5.1). */
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

/** Maximum length of ids, names and versions, in characters: they are repeated in answers. */
const MAX_TEXT = 256;

/** An unknown tool is a protocol error; errors in the arguments are reported by the tool. */
const TOOLS: ReadonlySet<string> = new Set([
  'list_models',
  'get_model',
  'estimate',
  'generate',
  'get_task',
  'cancel_task',
  'list_tasks',
  'text',
]);

/** Each kind of request, and the params that are needed. */
const REQUESTS: ReadonlyMap<string, (params: Members) => Members> = new Map([
  ['initialize', initializeParams],
  ['ping', () => ({})],
  ['tools/list', () => ({})],
  ['tools/call', callParams],
]);

/** Replaces a request that is rejected: the server answers it with this error, in order. */
export const RejectedRequestSchema = z.object({
  method: z.literal('darkroom/rejected'),
  params: z.object({ code: z.int(), message: z.string() }),
});

/** Answers a request as a JSON-RPC error. */
export class RejectedRequestError extends Error {
  override readonly name = 'RejectedRequestError';
  readonly code: number;
  readonly data: RpcErrorData;

  constructor({ code, message }: z.infer<typeof RejectedRequestSchema>['params']) {
    super(message);
    this.code = code;
    this.data = rpcErrorData(code === METHOD_NOT_FOUND ? 'not_found' : 'invalid_request');
  }
}

/**
 * @param message which has the outer form of JSON-RPC 2.0.
 * @returns what is passed on to the server; undefined: it needs nothing of this message.
 */
export function takenOf({ id, method, params }: Members): JSONRPCMessage | undefined {
  // A response: the server sends no requests to its clients.
  if (typeof method !== 'string') return undefined;
  const given = isObject(params) ? params : {};
  if (!isId(id)) return notification(method, given);
  try {
    const read = REQUESTS.get(method);
    if (read === undefined) throw new Mistake(`Method not found: ${method}`, METHOD_NOT_FOUND);
    return { jsonrpc: '2.0', id, method, params: read(given) };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const { code, message } = error;
    return { jsonrpc: '2.0', id, method: RejectedRequestSchema.shape.method.value, params: { code, message } };
  }
}

/** An error in the params of a request. */
class Mistake extends Error {
  readonly code: number;

  constructor(message: string, code = INVALID_PARAMS) {
    super(message);
    this.code = code;
  }
}

/** Notifications are never answered, not even invalid ones. */
function notification(method: string, { requestId }: Members): JSONRPCMessage | undefined {
  if (method === 'notifications/initialized') return { jsonrpc: '2.0', method };
  if (method !== 'notifications/cancelled' || !isId(requestId)) return undefined;
  return { jsonrpc: '2.0', method, params: { requestId } };
}

function initializeParams(params: Members): Members {
  const clientInfo = objectIn(params, 'clientInfo');
  objectIn(params, 'capabilities');
  return {
    protocolVersion: textIn(params, 'protocolVersion'),
    // The server does not use any.
    capabilities: {},
    clientInfo: {
      name: textIn(clientInfo, 'name', 'clientInfo.name'),
      version: textIn(clientInfo, 'version', 'clientInfo.version'),
    },
  };
}

/** `task` is ignored, as the protocol requires of a server that does not offer to run tools as tasks. */
function callParams(params: Members): Members {
  const name = textIn(params, 'name');
  if (!TOOLS.has(name)) throw new Mistake(`Unknown tool: ${name}`);
  const given = params['arguments'] === undefined ? {} : objectIn(params, 'arguments');
  const { progressToken } = params['_meta'] === undefined ? {} : objectIn(params, '_meta');
  if (progressToken !== undefined && !isId(progressToken)) {
    throw new Mistake(
      `invalid request: params._meta.progressToken: must be an integer or a string of at most ${MAX_TEXT} characters`,
    );
  }
  return { name, arguments: given, ...(progressToken === undefined ? {} : { _meta: { progressToken } }) };
}

function objectIn(members: Members, name: string): Members {
  const value = members[name];
  if (!isObject(value)) throw new Mistake(`invalid request: params.${name}: must be an object`);
  return value;
}

function textIn(members: Members, name: string, path = name): string {
  const value = members[name];
  if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
  throw new Mistake(`invalid request: params.${path}: must be a string of at most ${MAX_TEXT} characters`);
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= MAX_TEXT : Number.isSafeInteger(value);
}
