/** A media child that answers after five seconds without work, as one does that gets no processor time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { serveParent } from '../src/child-channel.ts';

await serveParent(async (_request, parent) => {
  await sleep(5_000);
  await parent.sendJson({ isLate: true });
});
