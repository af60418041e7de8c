/**
 * The worker of the yardstick, with the SDK's default settings.
 *
 * Usage: raw-worker.ts <Temporal address> <workflow bundle>
 */
import { NativeConnection, Worker } from '@temporalio/worker';

const [address = '', codePath = ''] = process.argv.slice(2);
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue: 'bench-raw',
  workflowBundle: { codePath },
  activities: { echo: async (text: string) => text },
});
process.once('disconnect', () => worker.shutdown());
process.send?.('ready');
await worker.run();
await connection.close();
