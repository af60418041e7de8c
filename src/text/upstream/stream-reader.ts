/** What understands an upstream's stream: it is given the events as they come, and tells what the client gets of them. */

export interface StreamReader<T> {
  /**
   * Takes in one event.
   *
   * @param name of its `event:` line, where it has one.
   * @param emit takes a piece of the answer.
   * @throws {TextFailure} it is no event of the protocol, or tells of a failure.
   */
  read(name: string | undefined, data: string, emit: (piece: T) => void): void;
  /**
   * The connection has ended, in order or not.
   *
   * @throws {TextFailure} the answer is not complete.
   */
  end(emit: (piece: T) => void): void;
  /** The last event was there: what comes after it is of no interest. */
  readonly isOver: boolean;
}
