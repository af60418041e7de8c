/** Interprets an upstream's stream: it receives the events as they come, and emits what the client gets of them. */

export interface StreamReader<T> {
  /**
   * Processes one event.
   *
   * @param name of its `event:` line, if it has one.
   * @param emit takes a piece of the answer.
   * @throws {TextFailure} it is not an event of the protocol, or reports a failure.
   */
  read(name: string | undefined, data: string, emit: (piece: T) => void): void;
  /**
   * The connection has ended, in order or not.
   *
   * @throws {TextFailure} the answer is not complete.
   */
  end(emit: (piece: T) => void): void;
  /** The last event was received: what comes after it is ignored. */
  readonly isOver: boolean;
}
