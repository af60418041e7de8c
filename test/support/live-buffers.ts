/** How many buffers this process holds, whatever their size: what many tiny pieces cost. */
import { queryObjects } from 'node:v8';

/** Those that are still reachable: garbage is collected first. */
export function liveBuffers(): number {
  return queryObjects(Buffer, { format: 'count' });
}
