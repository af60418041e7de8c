/**
 * Determines the client's IP address of a request (contract §7). It is the address of the socket's peer or, if that is
 * a trusted proxy, the right-most address of `X-Forwarded-For` that is not a trusted proxy.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';

/** @returns a function that returns the IP address of a request's client, or `unknown` if its socket is closed. */
export function createClientAddress(trustedProxies: BlockList): (request: IncomingMessage) => string {
  return (request) => {
    let address = unmapIpv4(request.socket.remoteAddress ?? '');
    const forwarded = (request.headersDistinct['x-forwarded-for'] ?? []).flatMap((value) => value.split(','));
    while (isTrusted(trustedProxies, address) && forwarded.length > 0) {
      const next = unmapIpv4((forwarded.pop() ?? '').trim());
      // A trusted proxy appends an IP address; anything else was sent by the client.
      if (isIP(next) === 0) break;
      address = next;
    }
    return address === '' ? 'unknown' : address;
  };
}

/** Whether an IP address belongs to a proxy whose forwarding headers are trusted. */
export function isTrusted(trustedProxies: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && trustedProxies.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Returns the key under which limits per IP address count a client: an IPv4 address itself, or the /64 prefix of an
 * IPv6 address, because one subscriber gets at least a /64.
 *
 * @param address as `createClientAddress` returns it.
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [withoutZone = ''] = address.split('%');
  // The URL parser writes an IPv6 address in its canonical form, including the last four bytes in hexadecimal.
  const [head = '', tail] = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter((part) => part !== '');
  const after = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`;
}

/** Converts an IPv4-mapped IPv6 address, as sockets report it, to plain IPv4. */
export function unmapIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
