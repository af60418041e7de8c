/** How many buffers this process holds, whatever their size: the cost of many tiny pieces. */
import { queryObjects } from 'node:v8';

/** Those that are still reachable: garbage is collected first. */
export function liveBuffers(): number {
  return queryObjects(Buffer, { format: 'count' });
}
