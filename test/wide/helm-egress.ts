/** What a NetworkPolicy lets out, and addresses to compare it at. */
import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { NetworkPolicyRule } from './helm-chart.ts';

/** Ranges that are not the public internet, from IANA's registries of special-purpose addresses. */
const SPECIAL_RANGES = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24',
  '203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32 168.63.129.16/32',
  '::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001::/32 2001:2::/48 2001:3::/32',
  '2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20',
  '5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8',
].flatMap((line) => line.split(' '));

/** Addresses at the edges of ranges, just outside of them, and some thousand of anywhere. */
export function addressesAround(ranges: readonly string[]): readonly string[] {
  const edges = [...SPECIAL_RANGES, ...ranges].flatMap((cidr) => {
    const [network, bits] = ipaddr.parseCIDR(cidr);
    const first = network.toByteArray();
    const last = first.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - 8 * index))));
    return [first, last, neighbour(first, -1), neighbour(last, 1)];
  });
  // Distributed evenly, and the same in every run.
  const anywhere = Array.from({ length: 4_000 }, (_, index) => [
    ...createHash('sha256')
      .update(String(index))
      .digest()
      .subarray(0, index % 2 === 0 ? 4 : 16),
  ]);
  // Half of the IPv6 addresses in the space that is assigned.
  for (const bytes of anywhere.filter((_, index) => index % 4 === 1)) bytes[0] = 0x20 | ((bytes[0] ?? 0) & 0x1f);
  return [...edges, ...anywhere].map((bytes) => ipaddr.fromByteArray(bytes).toString());
}

/** The address before or after; the same at the ends of the space. */
function neighbour(bytes: readonly number[], step: 1 | -1): number[] {
  const copy = [...bytes];
  for (let index = copy.length - 1; index >= 0; index--) {
    const next = (copy[index] ?? 0) + step;
    if (next >= 0 && next <= 255) {
      copy[index] = next;
      return copy;
    }
    copy[index] = next < 0 ? 255 : 0;
  }
  return [...bytes];
}

/** Whether the rules let a TCP connection to an address outside of the cluster out. */
export function letsOut(rules: readonly NetworkPolicyRule[], address: string, port: number): boolean {
  const parsed = ipaddr.parse(address);
  return rules.some(({ ports, to }) => {
    if (ports?.some((each) => each.protocol === 'TCP' && each.port === port) === false) return false;
    if (to === undefined) return true;
    return to.some(({ ipBlock }) => {
      if (ipBlock === undefined || !isIn(parsed, ipBlock.cidr)) return false;
      return !(ipBlock.except ?? []).some((cidr) => isIn(parsed, cidr));
    });
  });
}

/** Read once each: there are some, and thousands of addresses. */
const networks = new Map<string, ReturnType<typeof ipaddr.parseCIDR>>();

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, cidr: string): boolean {
  const known = networks.get(cidr) ?? ipaddr.parseCIDR(cidr);
  networks.set(cidr, known);
  const [network, bits] = known;
  return address.kind() === network.kind() && address.match(network, bits);
}
