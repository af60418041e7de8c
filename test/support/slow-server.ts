/** A server whose answers begin and then take as long as it likes: what a stranger's address may be. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** As much as keeps a fetch going: far above the pace that is asked (src/egress/pace.ts). */
const PIECE = Buffer.alloc(64_000);
const PIECE_MS = 250;
/** `/slow/…` comes for ever at a passable pace, `/silent/…` stops after its first byte. */
export class SlowServer {
  readonly asked: string[] = [];
  open = 0;
  mostOpen = 0;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const url = request.url ?? '';
      this.asked.push(url);
      this.open += 1;
      this.mostOpen = Math.max(this.open, this.mostOpen);
      const timer = url.startsWith('/slow/') ? setInterval(() => response.write(PIECE), PIECE_MS) : undefined;
      response.once('close', () => {
        this.open -= 1;
        clearInterval(timer);
      });
      response.writeHead(200, { 'content-type': 'image/png' }).write('x');
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
