/** The messages between the publisher and the thread that holds the connection to the brokers. */

export type BrokerSettings = {
  brokers: string[]; // host:port
  topic: string;
  client_id: string;
};

/** `key` decides the partition; `timestamp` in milliseconds since 1970. */
export type BrokerMessage = { key: string; value: string; timestamp: string };

export type ToBroker =
  | { kind: 'probe' } // whether the brokers are still there
  | { kind: 'send'; messages: BrokerMessage[] }
  | { kind: 'stop' };

export type FromBroker =
  | { kind: 'done' } // connected, with a topic that is there; or what was sent last is stored by the brokers
  | { kind: 'failed'; reason: string }; // to connect, or to send; the thread is of no use any more
