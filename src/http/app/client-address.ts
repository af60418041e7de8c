/**
 * The client address of a request (contract §7): the socket's peer; if that is a trusted proxy, the right-most
 * address of `X-Forwarded-For` that is not one.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';

/** @returns a function that finds the address of a request's client; `unknown` for a socket that is closed. */
export function createClientAddress(trustedProxies: BlockList): (request: IncomingMessage) => string {
  return (request) => {
    let address = unmapIpv4(request.socket.remoteAddress ?? '');
    const forwarded = (request.headersDistinct['x-forwarded-for'] ?? []).flatMap((value) => value.split(','));
    while (isTrusted(trustedProxies, address) && forwarded.length > 0) {
      const next = unmapIpv4((forwarded.pop() ?? '').trim());
      // What a trusted proxy wrote is an address; anything else was already there.
      if (isIP(next) === 0) break;
      address = next;
    }
    return address === '' ? 'unknown' : address;
  };
}

/** Whether an address is that of a proxy whose forwarding headers are trusted. */
export function isTrusted(trustedProxies: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && trustedProxies.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * What a limit by address counts as one client: an IPv4 address, and of IPv6 the /64, which is the least that one
 * subscriber has.
 *
 * @param address as `createClientAddress` returns it.
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [withoutZone = ''] = address.split('%');
  // The URL parser writes an address in its one canonical form, its last four bytes in hexadecimal too.
  const [head = '', tail] = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter((part) => part !== '');
  const after = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

/** An IPv4 address in plain form, also where the socket spells it as IPv6. */
export function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
