/**
 * How a connection is made to an untrusted address. A `lookup` hook is no guard, because a literal address never
 * reaches it; so all connecting is done here: resolve once, check every address, connect to one of the very addresses
 * that were checked, and check the peer again before a byte is sent.
 */
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { unlessAborted } from '../domain/waits.ts';
import { isSameAddress } from './address.ts';
import { BlockedError, HandshakeError } from './egress-error.ts';
import type { ResolveName } from './name-resolver.ts';
import { mayBeGranted } from './operator-lists.ts';
import { mayConnect } from './policy.ts';
import type { EgressPolicy, Target } from './policy.ts';

/** The settings of a connection. */
export interface ConnectSettings {
  readonly policy: EgressPolicy;
  readonly resolve: ResolveName;
  /** The account whose share of the resolver is used. */
  readonly accountId: string;
  /** Additional certificates to trust (PEM); absent: those of the system and Node. */
  readonly certificateAuthority?: string | undefined;
  /** Ends the attempt at any stage. */
  readonly signal: AbortSignal;
}

/** How many of a name's addresses are tried: a dead first one costs a delay, not the delivery. */
const MAX_ATTEMPTS = 3;

/**
 * The time limit of one connection attempt, in milliseconds. A callback has 10 s in total (spec §6.2); the last address
 * gets the remaining time.
 */
const ATTEMPT_TIMEOUT_MS = 2500;

/**
 * Opens a connection that the policy permits, with TLS unless the target is plain HTTP.
 *
 * @throws {BlockedError} the policy does not permit one of the addresses; nothing was sent.
 * @throws {HandshakeError} TLS could not be established or verified.
 */
export async function connectGuarded(target: Target, settings: ConnectSettings): Promise<Socket> {
  const addresses = await resolveAllowedAddresses(target, settings);
  const socket = await connectToFirst(addresses, target.port, settings.signal);
  return target.isPlainHttp ? socket : startTls(socket, target, settings);
}

/**
 * All addresses of a target. If one is not permitted, the whole name is denied: the result would otherwise be a
 * matter of chance.
 *
 * @throws {BlockedError} the policy does not permit one of the addresses.
 */
export async function resolveAllowedAddresses(target: Target, settings: ConnectSettings): Promise<readonly string[]> {
  const addresses =
    target.host.kind === 'address' ? [target.host.address] : await resolveName(target.host.name, target, settings);
  if (addresses.length === 0) throw new Error('the name has no address');
  for (const address of addresses) {
    if (!mayConnect(target, address, settings.policy)) throw new BlockedError('the address is not permitted', address);
  }
  return addresses;
}

async function resolveName(name: string, target: Target, settings: ConnectSettings): Promise<readonly string[]> {
  const { accountId, signal, policy } = settings;
  const named = { name, port: target.port, isPlainHttp: target.isPlainHttp };
  const resolving = settings.resolve(name, { accountId, signal, mayBeGranted: mayBeGranted(policy.allow, named) });
  // The caller is not held up by a resolver that takes its time to stop.
  return unlessAborted(resolving, signal);
}

async function connectToFirst(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  const tried = addresses.slice(0, MAX_ATTEMPTS);
  let failure: unknown;
  for (const [index, address] of tried.entries()) {
    try {
      const isLast = index === tried.length - 1;
      return await openSocket(address, port, isLast ? undefined : ATTEMPT_TIMEOUT_MS, signal);
    } catch (error) {
      if (signal.aborted || error instanceof BlockedError) throw error;
      failure = error;
    }
  }
  throw failure;
}

function openSocket(
  address: string,
  port: number,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = connectTcp({ host: address, port, noDelay: true, autoSelectFamily: false, signal });
    if (timeoutMs !== undefined) {
      socket.setTimeout(timeoutMs, () => socket.destroy(new Error('the address did not answer')));
    }
    // The listener stays: an error between here and the next owner of the socket must not end the process.
    socket.on('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      if (isSameAddress(address, socket.remoteAddress)) {
        resolve(socket);
        return;
      }
      const blocked = new BlockedError('the peer is not the address that was checked', socket.remoteAddress);
      socket.destroy(blocked);
      reject(blocked);
    });
  });
}

function startTls(socket: Socket, target: Target, settings: ConnectSettings): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({
      socket,
      // The name that the certificate must carry. SNI is for names only; a literal address is matched as such.
      ...(target.host.kind === 'name' ? { servername: target.host.name } : { host: target.host.address }),
      ...(settings.certificateAuthority === undefined ? {} : { ca: settings.certificateAuthority }),
      ALPNProtocols: ['http/1.1'],
      // Set here so that NODE_TLS_REJECT_UNAUTHORIZED cannot override it.
      rejectUnauthorized: true,
    });
    secure.on('error', (error) => reject(new HandshakeError('the TLS handshake failed', { cause: error })));
    secure.once('close', () => reject(new HandshakeError('the connection was closed during the TLS handshake')));
    secure.once('secureConnect', () => resolve(secure));
  });
}
