// Made by "npm run generate" from the service's OpenAPI document: do not edit.
// 4efba2f1e36000f4b9c8de38f3eda87e1d58ac17cd3bd17180ced40af4daa6a3

export interface paths {
    "/api/v1/fees": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What others pay, what ours would pay, and what was spent
         * @description The pool is looked at only where SEQUENCER_FEE is auto: once a slot and at most once a minute, by one process for all, and only while there is work.
         */
        get: operations["getFees"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The whole in numbers
         * @description However many ask, the store is looked at twice a second at most.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How it went over the last hour, day or week
         * @description As the processes have seen it: each tells once a minute, and one that is killed takes its last minute along.
         */
        get: operations["getHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who asks */
        get: operations["getSession"];
        put?: never;
        /**
         * Log a browser in
         * @description Sets a cookie that opens the same routes as the key, for twelve hours and as long as the key is known. No script can read it, and no other site can send it. A wrong key is told a second later, and only so many are looked at in a second, for each address and in sum: who waits longer than 20 seconds for that gets 429.
         */
        post: operations["openSession"];
        /** Log a browser out */
        delete: operations["closeSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List provers */
        get: operations["listProvers"];
        put?: never;
        /** Register a prover */
        post: operations["addProver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        /** Read a prover */
        get: operations["getProver"];
        put?: never;
        post?: never;
        /**
         * Remove a prover
         * @description What it is at work on it may end; its answer is taken.
         */
        delete: operations["removeProver"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provers/{id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a prover out of use
         * @description What it is at work on it ends; it gets nothing new.
         */
        post: operations["drainProver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provers/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a prover back into use */
        post: operations["resumeProver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List queues
         * @description By name, all of them, unless it is asked for others. What changes its place while the pages are read may be missed, or come twice. A page looks at 10,000 at most, so it may be short, or empty, and not be the last.
         */
        get: operations["listQueues"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        /** Read a queue */
        get: operations["getQueue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause all queues that a filter chooses
         * @description Those that there are, and by the beginnings of their names those that come to be later, until they are resumed by the same filter, or a wider one; GET /overview names these beginnings (stops). One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request is harmless.
         */
        post: operations["pauseQueues"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume all queues that a filter chooses
         * @description Those that are paused, and those that come to be later: what was said of these beginnings of names, or of longer ones, is over; inside a wider one that is paused they are let run. One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request is harmless.
         */
        post: operations["resumeQueues"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a queue
         * @description What runs may finish; nothing further is begun.
         */
        post: operations["pauseQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a queue */
        post: operations["resumeQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queues/{name}/width": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the width of a queue
         * @description From 2 on several transactions of it are in flight at successive nonces of its sender, and share blocks. A wider queue takes more at once; in one that is made narrower, what is in flight stays.
         */
        post: operations["widenQueue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/senders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List senders */
        get: operations["listSenders"];
        put?: never;
        /** Register a sender */
        post: operations["addSender"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/senders/{accountId}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        /** Read a sender */
        get: operations["getSender"];
        put?: never;
        post?: never;
        /**
         * Remove a sender
         * @description Not while it is bound to a queue: drain it first.
         */
        delete: operations["removeSender"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/senders/{accountId}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a sender out of use
         * @description It finishes its transaction, retries included.
         */
        post: operations["drainSender"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/senders/{accountId}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a sender back into use */
        post: operations["resumeSender"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow what happens
         * @description Gapless and in order, the same at every replica. To know a state and follow it: open the stream first, then read the state.
         */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process answers */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The service works
         * @description Needs no key. Addresses of the service's own network stand in it only for a key that is for all queues, or where no keys are needed.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description */
        get: operations["getDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs/codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What each code means, with cause and remedy
         * @description The page that type of a problem leads to.
         */
        get: operations["getCodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description for people */
        get: operations["getReference"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List transactions
         * @description A page may be short and still have a nextCursor: no request looks at more than 10,000 entries, or goes on when a page holds 8 MiB of payloads.
         */
        get: operations["listTransactions"];
        put?: never;
        /**
         * Post a transaction
         * @description Answers when it is stored. With a uid it may be sent again as often as it takes: it is accepted once. The same uid with another queue, type, data (compared as JSON, numbers by their text), maxFee, notBefore or expiresAt: 409.
         */
        post: operations["postTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Post many transactions
         * @description A JSON array, or a JSON object per line; at most 10,000. A body that is not well formed as a whole changes nothing.
         */
        post: operations["postBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel all that a filter chooses
         * @description Cancels what is not final and has not been asked to cancel yet. One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request is harmless.
         */
        post: operations["cancelTransactions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry all that a filter chooses
         * @description Retries what is FAILED or UNRESOLVED. One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request is harmless.
         */
        post: operations["retryTransactions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove all that a filter chooses
         * @description Removes what is FAILED or UNRESOLVED, or DONE past finality; what may still land is refused. One request looks at and does some 10,000 at most: go on with nextCursor as cursor until it is null. To repeat a request is harmless.
         */
        post: operations["deleteTransactions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        /** Read a transaction */
        get: operations["getTransaction"];
        put?: never;
        post?: never;
        /**
         * Remove a transaction
         * @description FAILED, UNRESOLVED, or DONE past finality; with no attempt open.
         */
        delete: operations["deleteTransaction"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        /**
         * Say what it waits for and what happens next
         * @description A key that is limited to some queues is told of senders how many are bound and out of use, and neither which nor why.
         */
        get: operations["explainTransaction"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}/batch": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        /**
         * Say what a batch is to Hyperledger Grid
         * @description Of a transaction for a ledger that takes batches. The receipts of a committed one are asked of its ledger in each call.
         */
        get: operations["getLedgerBatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a transaction
         * @description FAILED or UNRESOLVED goes back to WAITING, with fresh retries, at its old place in the queue.
         */
        post: operations["retryTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a transaction */
        post: operations["cancelTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/transactions/{uid}/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say what became of an attempt
         * @description Settles an attempt of unknown outcome. Refused where the chain contradicts it, and as MIGHT_STILL_LAND where it would leave its queue while others, made on it, are in flight.
         */
        post: operations["resolveTransaction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhook endpoints */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Add a webhook endpoint
         * @description Each event goes to the endpoint as a POST by Standard Webhooks 1.0: in order for each transaction, at least once. Its body is a WebhookEvent.
         */
        post: operations["addWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        /** Read a webhook endpoint */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /** Remove a webhook endpoint */
        delete: operations["removeWebhook"];
        options?: never;
        head?: never;
        /**
         * Change a webhook endpoint
         * @description Where it is, or what it is told, from its next event on. Its secret stays, and so does what is parked of it. What is left out stays as it is; null for a list chooses everything.
         */
        patch: operations["editWebhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take a webhook endpoint back into use
         * @description It goes on from where it was.
         */
        post: operations["enableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send nothing to a webhook endpoint
         * @description Its events are kept as those of an endpoint that does not answer.
         */
        post: operations["disableWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/ping": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Once, at once, and also to an endpoint that is disabled. Its code is PING, and its id no event's.
         */
        post: operations["pingWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a webhook endpoint another secret */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Try again what is parked, or deliver events once more */
        post: operations["replayWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        /** List the last tries */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/parked": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        /** List what is parked */
        get: operations["listParkedEvents"];
        put?: never;
        post?: never;
        /** Forget what is parked */
        delete: operations["discardParkedEvents"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    event: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a webhook endpoint gets
         * @description By Standard Webhooks 1.0, with the headers webhook-id (the id of the event), webhook-timestamp and webhook-signature: check it with one of the standard's libraries. 2xx within 15 seconds is success. 410 disables the endpoint, 429 and Retry-After are kept, a redirect is not followed, and what else fails is tried again for three days. The same event may come more than once, with the same id.
         */
        post: operations["receiveEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /**
         * @description The uid of a transaction. A key that is limited to some queues has a space of uids of its own: what it posts as vote-17 is vote-17 to it, and name~vote-17 to all others, name being the key's.
         * @example vote-17
         */
        Uid: string;
        UidOrNone: components["schemas"]["Uid"] | null;
        /** @description Chosen by the client so that it can repeat the post; made by the service if left out. Without a ~, also where the key has a space of its own. */
        ChosenUid: string | null;
        /** @description It is not dispatched before. A queue is a line: what stands behind it waits, too. */
        NotBefore: components["schemas"]["Time"];
        /** @description Its deadline, after notBefore: no attempt is valid beyond it, so that the chain itself refuses what comes later. Then it is FAILED, EXPIRED. */
        ExpiresAt: components["schemas"]["Time"];
        /** @description The most that an attempt of it may pay: at least 1000000, which is the least that nodes take. */
        MaxFee: components["schemas"]["Nanomina"] | null;
        /** @example plan-p1 */
        QueueName: string;
        /** @example SEND_CLAIM_VOTE */
        TypeName: string;
        /**
         * @description A Mina public key in base58.
         * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
         */
        AccountId: string;
        /**
         * @description A slot of a ledger, {ledger}/{n}. In a path its slash is written %2F.
         * @example sawtooth/1
         */
        SlotId: string;
        SenderId: components["schemas"]["AccountId"] | components["schemas"]["SlotId"];
        /**
         * @description An amount in nanomina.
         * @example 100000000
         */
        Nanomina: string;
        /**
         * Format: date-time
         * @example 2026-03-01T12:00:00.000Z
         */
        Time: string | null;
        Text: string | null;
        /**
         * @description The hash of a transaction.
         * @example 5JuSRViCY1GbnnpExLhoYLkD96vwnA97ZrbE2UFTFzBk9SPLsAyE
         */
        Hash: string | null;
        /**
         * @description WAITING in its queue; DISPATCHING: its worker has it, or it is being sent; REVISION: it may be on its way into a block; RETRY: it failed and will be tried again; and final DONE, FAILED (retries used up, or cancelled), UNRESOLVED (no retry can mend it, or only a person can settle it).
         * @enum {unknown}
         */
        State: "WAITING" | "DISPATCHING" | "REVISION" | "RETRY" | "DONE" | "FAILED" | "UNRESOLVED";
        /**
         * @description FREE: no sender is bound; BLOCKED: dispatching; INCLUSION: dispatched; WAITING_INCLUSION: watched into a block; RETRY: failed, the delay not yet begun; DELAY: until the next try.
         * @enum {unknown}
         */
        QueueState: "FREE" | "BLOCKED" | "INCLUSION" | "WAITING_INCLUSION" | "RETRY" | "DELAY";
        /**
         * @description prepared: planned; signed: its bytes are stored and may have been sent; sent: a node took it; pooled: seen in a pool; included: in a block, and succeeded; failed: in a block, and failed there; expired: a block lies past its validUntil; replaced: its nonce was spent by another command; refused: every node refused it; unknown: it may have been sent.
         * @enum {unknown}
         */
        Outcome: "prepared" | "signed" | "sent" | "pooled" | "included" | "failed" | "expired" | "replaced" | "refused" | "unknown";
        /**
         * @example {
         *       "code": "Invalid_fee_excess",
         *       "message": "the block refused it",
         *       "exception": null
         *     }
         */
        Error: {
            code: string;
            /** @description For a key of some queues, addresses of the service's own network are hidden in it. */
            message: string;
            exception: components["schemas"]["Text"];
        } | null;
        /**
         * @description One try of a transaction. Signed bytes are never shown.
         * @example {
         *       "number": 1,
         *       "sender": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *       "nonce": 12,
         *       "fee": "100000000",
         *       "weight": 9,
         *       "estimate": null,
         *       "validUntil": 5123,
         *       "hash": "5JuSRViCY1GbnnpExLhoYLkD96vwnA97ZrbE2UFTFzBk9SPLsAyE",
         *       "outcome": "pooled",
         *       "blockHeight": null,
         *       "stateHash": null,
         *       "confirmations": 0,
         *       "touched": [
         *         {
         *           "publicKey": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *           "tokenId": "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"
         *         }
         *       ],
         *       "error": null,
         *       "startedAt": "2026-03-01T12:00:05.000Z",
         *       "endedAt": null
         *     }
         */
        Attempt: {
            /** @description Never starts anew. */
            number: number;
            sender: components["schemas"]["Text"];
            /** @description null of a batch for a ledger, as is the fee. */
            nonce: number | null;
            fee: components["schemas"]["Nanomina"] | null;
            /** @description As it was signed. */
            weight: components["schemas"]["Weight"];
            estimate: components["schemas"]["Estimate"];
            /** @description The last slot since genesis in which a block may take it. */
            validUntil: number | null;
            hash: components["schemas"]["Hash"];
            outcome: components["schemas"]["Outcome"];
            blockHeight: number | null;
            stateHash: components["schemas"]["Text"];
            confirmations: number;
            /** @description The accounts that its command reads or changes, as it was signed, its sender's left out; the first 16 of them. */
            touched: components["schemas"]["Account"][];
            error: components["schemas"]["Error"];
            startedAt: components["schemas"]["Time"];
            endedAt: components["schemas"]["Time"];
        };
        /** @description An account of Mina. */
        Account: {
            publicKey: string;
            /** @description wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf is MINA. */
            tokenId: string;
        };
        /**
         * @example {
         *       "uid": "vote-17",
         *       "queue": "plan-p1",
         *       "sequence": 4711,
         *       "type": "COMMIT_ALL_VOTING_BATCHES",
         *       "data": {
         *         "planUid": "p1"
         *       },
         *       "posted": null,
         *       "state": "WAITING",
         *       "hash": null,
         *       "retries": 0,
         *       "sender": null,
         *       "done": null,
         *       "error": null,
         *       "attempts": [],
         *       "notBefore": null,
         *       "expiresAt": "2026-03-01T18:00:00.000Z",
         *       "maxFee": "500000000",
         *       "receivedAt": "2026-03-01T12:00:00.000Z",
         *       "submittedAt": null,
         *       "retriedAt": null,
         *       "doneAt": null,
         *       "finalAt": null,
         *       "reopened": false,
         *       "cancelRequested": false,
         *       "callback": null,
         *       "claim": null,
         *       "submitted": null,
         *       "submissionError": null,
         *       "submissionErrorMessage": null
         *     }
         */
        Transaction: {
            uid: components["schemas"]["Uid"];
            queue: components["schemas"]["QueueName"];
            /** @description One counter for all queues, in the order of acceptance. */
            sequence: number;
            type: components["schemas"]["TypeName"];
            /** @description As posted, token for token; once it has landed, what the worker of the attempt that landed made of it, if it made something. */
            data: unknown;
            /** @description As posted, token for token, where data is what its worker has made of it; null where data is as posted. */
            posted: unknown;
            state: components["schemas"]["State"];
            /** @description Of the attempt in the block; before that, of the latest. */
            hash: components["schemas"]["Hash"];
            /** @description Retry dispatches begun. */
            retries: number;
            /** @description The sender that is bound, or the last one that was. */
            sender: components["schemas"]["Text"];
            /** @description {blockHeight, stateHash}, or what the worker answered when it finished it without a block. */
            done: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["Error"];
            attempts: components["schemas"]["Attempt"][];
            /** @description It is not dispatched before, and what stands behind it in its queue waits, too. */
            notBefore: components["schemas"]["Time"];
            /** @description Its deadline: it lands before, or never. */
            expiresAt: components["schemas"]["Time"];
            /** @description The most that an attempt of it may pay. */
            maxFee: components["schemas"]["Nanomina"] | null;
            receivedAt: components["schemas"]["Time"];
            /** @description The first time a node took it, or may have. */
            submittedAt: components["schemas"]["Time"];
            retriedAt: components["schemas"]["Time"];
            /** @description When it became final, in whatever state. */
            doneAt: components["schemas"]["Time"];
            /** @description When its block was deep enough to be watched no longer. */
            finalAt: components["schemas"]["Time"];
            /** @description Its block was orphaned, and it is being brought back. */
            reopened: boolean;
            cancelRequested: boolean;
            callback: components["schemas"]["Callback"];
            /** @description The process that drives it. Null while none does, and expires is null in a webhook. */
            claim: components["schemas"]["Claim"];
            /** @description Of a batch for a ledger, as Hyperledger Grid means it: the submitter has it and is doing something with it, or is done with it. false while it waits for its turn or for another try, and where its ledger does not know it. null of all else. */
            submitted: boolean | null;
            /** @description Of a batch: the code of why it ended without a verdict of its ledger on what it does. */
            submissionError: string | null;
            /** @description The message that goes with submissionError. */
            submissionErrorMessage: string | null;
        };
        /** @description What became of telling its worker how it ended: of the callback that is due, or else of the last one. Null while none is. */
        Callback: {
            /** @enum {unknown} */
            name: "on-success" | "on-failure";
            /** @description Whether it was answered; else it is told again. */
            told: boolean;
            tries: number;
            /** @description What the worker answered, without success and signed: up to 4096 bytes, null for nothing. The next callback of this transaction gets it as answered. */
            answer: Record<string, never> | null;
            /** @description Why it is told again, or its answer was not kept. For a key of some queues, addresses of the service's own network are hidden in it, and in the answer. */
            error: components["schemas"]["Text"];
            /** @description When it was last tried. */
            at: components["schemas"]["Time"];
        } | null;
        /**
         * @description What posting a transaction would answer, and what the transaction would do.
         * @example {
         *       "dryRun": true,
         *       "existed": false,
         *       "notSimulated": null,
         *       "simulation": {
         *         "ahead": 0,
         *         "ok": false,
         *         "failure": {
         *           "index": 1,
         *           "code": "Account_app_state_0_precondition_unsatisfied",
         *           "message": "account update 1 of 1: Account_app_state_0_precondition_unsatisfied"
         *         },
         *         "weight": 2,
         *         "touched": [
         *           {
         *             "publicKey": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *             "tokenId": "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf",
         *             "creates": false
         *           }
         *         ],
         *         "seconds": 21.4,
         *         "fee": "100000000"
         *       },
         *       "uid": "vote-17",
         *       "queue": "plan-p1",
         *       "sequence": 4711,
         *       "type": "COMMIT_ALL_VOTING_BATCHES",
         *       "data": {
         *         "planUid": "p1"
         *       },
         *       "posted": null,
         *       "state": "WAITING",
         *       "hash": null,
         *       "retries": 0,
         *       "sender": null,
         *       "done": null,
         *       "error": null,
         *       "attempts": [],
         *       "notBefore": null,
         *       "expiresAt": null,
         *       "maxFee": null,
         *       "receivedAt": "2026-03-01T12:00:00.000Z",
         *       "submittedAt": null,
         *       "retriedAt": null,
         *       "doneAt": null,
         *       "finalAt": null,
         *       "reopened": false,
         *       "cancelRequested": false,
         *       "callback": null,
         *       "claim": null,
         *       "submitted": null,
         *       "submissionError": null,
         *       "submissionErrorMessage": null
         *     }
         */
        Trial: {
            /** @constant */
            dryRun: true;
            /** @description It was accepted before, under the same uid; then it is not simulated. */
            existed: boolean;
            /** @description null where it was not simulated. */
            simulation: components["schemas"]["Simulation"] | null;
            /** @description Why it was not simulated, in words. */
            notSimulated: string | null;
            uid: components["schemas"]["Uid"];
            queue: components["schemas"]["QueueName"];
            /** @description The next one, where it did not exist: it gets its own when it is posted. */
            sequence: number;
            type: components["schemas"]["TypeName"];
            /** @description As posted, token for token; once it has landed, what the worker of the attempt that landed made of it, if it made something. */
            data: unknown;
            /** @description As posted, token for token, where data is what its worker has made of it; null where data is as posted. */
            posted: unknown;
            state: components["schemas"]["State"];
            /** @description Of the attempt in the block; before that, of the latest. */
            hash: components["schemas"]["Hash"];
            /** @description Retry dispatches begun. */
            retries: number;
            /** @description The sender that is bound, or the last one that was. */
            sender: components["schemas"]["Text"];
            /** @description {blockHeight, stateHash}, or what the worker answered when it finished it without a block. */
            done: {
                [key: string]: unknown;
            } | null;
            error: components["schemas"]["Error"];
            attempts: components["schemas"]["Attempt"][];
            /** @description It is not dispatched before, and what stands behind it in its queue waits, too. */
            notBefore: components["schemas"]["Time"];
            /** @description Its deadline: it lands before, or never. */
            expiresAt: components["schemas"]["Time"];
            /** @description The most that an attempt of it may pay. */
            maxFee: components["schemas"]["Nanomina"] | null;
            receivedAt: components["schemas"]["Time"];
            /** @description The first time a node took it, or may have. */
            submittedAt: components["schemas"]["Time"];
            retriedAt: components["schemas"]["Time"];
            /** @description When it became final, in whatever state. */
            doneAt: components["schemas"]["Time"];
            /** @description When its block was deep enough to be watched no longer. */
            finalAt: components["schemas"]["Time"];
            /** @description Its block was orphaned, and it is being brought back. */
            reopened: boolean;
            cancelRequested: boolean;
            callback: components["schemas"]["Callback"];
            claim: components["schemas"]["Claim"];
            /** @description Of a batch for a ledger, as Hyperledger Grid means it: the submitter has it and is doing something with it, or is done with it. false while it waits for its turn or for another try, and where its ledger does not know it. null of all else. */
            submitted: boolean | null;
            /** @description Of a batch: the code of why it ended without a verdict of its ledger on what it does. */
            submissionError: string | null;
            /** @description The message that goes with submissionError. */
            submissionErrorMessage: string | null;
        };
        /** @description What a transaction would do by the accounts as they are, or as what is in flight of its queue leaves them: its type's worker has made it without proofs, and Mina's transaction logic has applied it. Nothing was signed that could be sent, and no sender was bound. */
        Simulation: {
            /** @description How many in flight of its queue it was simulated behind, as they leave the accounts; 0 is by the accounts as they are: nothing is in flight, or the worker that carries it has no time. */
            ahead: number;
            /** @description It would do what it is meant to. */
            ok: boolean;
            /** @description Why it would fail; null where ok. */
            failure: {
                /** @description Of the account update, from 1 on, 0 of the fee payer; null where it did not come to account updates. */
                index: number | null;
                /** @description Mina's name of it, or the worker's code. */
                code: string;
                /** @description Of every account update that would fail. */
                message: string;
            } | null;
            /** @description 1 and one for each account update, by which Mina weighs its fee; null where it came to none. */
            weight: number | null;
            /** @description The accounts that it reads or changes. */
            touched: {
                publicKey: string;
                tokenId: string;
                /** @description It is not there before. */
                creates: boolean;
            }[];
            /** @description That a proof of its type usually takes at that worker; null where it has made none since it began. */
            seconds: number | null;
            /** @description That its first attempt would pay now. */
            fee: components["schemas"]["Nanomina"];
        };
        Claim: {
            /** @description Its incarnation: another one after each start. GET /readyz and the log of a process name its own. */
            process: string;
            since: components["schemas"]["Time"];
            /** @description When another process takes over, unless it is renewed, as it is while the process lives. */
            expires: components["schemas"]["Time"];
        } | null;
        /** @description A batch for a ledger, in Hyperledger Grid's words. */
        LedgerBatch: {
            uid: components["schemas"]["Uid"];
            /** @description The name of the ledger. */
            ledger: string;
            /** @description The header_signature. */
            batchId: string;
            state: components["schemas"]["State"];
            /** @description The submitter has it and is doing something with it, or is done with it. */
            submitted: boolean;
            /** @description The code of why it ended without a verdict of its ledger on what it does. */
            submissionError: string | null;
            /** @description The message that goes with submissionError. */
            submissionErrorMessage: string | null;
            /**
             * @description null: it was never submitted, or its ledger refused to take it. Unknown: its ledger does not know it. Delayed: submitting it went wrong, and is tried again. Pending, Valid, Invalid, Committed: as its ledger says.
             * @enum {unknown}
             */
            status: "Unknown" | "Delayed" | "Pending" | "Valid" | "Invalid" | "Committed" | null;
            /** @description When it was last begun to be posted. */
            triedAt: components["schemas"]["Time"];
            /** @description Nothing becomes of it any more by itself. */
            settled: boolean;
            /** @description Its transactions, once it is Invalid or Committed; before that none. */
            transactions: {
                id: string;
                familyName: string;
                familyVersion: string;
                signerPublicKey: string;
                /** @description What came of executing it; null where that is not known. */
                valid: boolean | null;
                /** @description Of what is not valid. */
                errorMessage: string | null;
                /** @description Of what is not valid, in base64. */
                errorData: string | null;
                /** @description As its ledger writes it, for the first 1,000; null where it keeps none, did not answer, or it is longer than 256 KiB. */
                receipt: {
                    [key: string]: unknown;
                } | null;
            }[];
        };
        /** @description What became of one item of a batch: a transaction or a problem. */
        BatchResult: {
            index: number;
            /**
             * @description It is what would be answered, and nothing is stored.
             * @constant
             */
            dryRun?: true;
            /**
             * @description 202: accepted; 200: it had been accepted before.
             * @enum {unknown}
             */
            status: 200 | 202;
            transaction: components["schemas"]["Transaction"];
        } | {
            index: number;
            /** @constant */
            dryRun?: true;
            status: number;
            problem: components["schemas"]["Problem"];
        };
        TransactionPage: {
            items: components["schemas"]["Transaction"][];
            /** @description null on the last page. */
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @example {
         *       "outcome": "dead"
         *     }
         */
        Resolution: {
            /**
             * @description landed: its attempt took effect; dead: it cannot any more.
             * @enum {unknown}
             */
            outcome: "landed" | "dead";
            /** @description Of the transaction that landed, or the id of the batch. */
            hash?: string | null;
        };
        /**
         * @example {
         *       "filter": {
         *         "queue": "plan-p1",
         *         "state": "WAITING"
         *       },
         *       "dryRun": true
         *     }
         */
        BulkCommand: {
            filter: components["schemas"]["TransactionFilter"];
            /** @description Only count. */
            dryRun?: boolean | null;
            /** @description The nextCursor of the request before. */
            cursor?: string | null;
        };
        /** @description Chooses transactions; what is left out chooses all. */
        TransactionFilter: {
            queue?: components["schemas"]["QueueName"] | null;
            type?: components["schemas"]["TypeName"] | null;
            state?: components["schemas"]["State"] | null;
            sender?: components["schemas"]["SenderId"] | null;
            /** @description The code that they ended with, or last failed with. */
            error?: string | null;
            /** @description Received from this time on. */
            since?: components["schemas"]["Time"];
            /** @description Received before this time. */
            until?: components["schemas"]["Time"];
            prefix?: components["schemas"]["QueuePrefix"];
            key?: components["schemas"]["TenantKey"];
        };
        /** @description Queues whose names begin so; not beside key. */
        QueuePrefix: string | null;
        /** @description The queues that the API keys of this name are limited to. A name whose keys are for all queues is refused. */
        TenantKey: string | null;
        /** @description Chooses queues, by one of the two. */
        QueueFilter: {
            prefix?: components["schemas"]["QueuePrefix"];
            key?: components["schemas"]["TenantKey"];
        };
        /**
         * @example {
         *       "filter": {
         *         "prefix": "shop-"
         *       },
         *       "reason": "the key of the shop has leaked",
         *       "dryRun": true
         *     }
         */
        PauseCommand: {
            filter: components["schemas"]["QueueFilter"];
            /** @description For people; 200 characters without the white space around it. */
            reason?: string | null;
            /** @description When they resume by themselves; else somebody has to resume them. */
            until?: components["schemas"]["Time"];
            /** @description Only count. */
            dryRun?: boolean | null;
            /** @description The nextCursor of the request before. */
            cursor?: string | null;
        };
        /**
         * @example {
         *       "filter": {
         *         "key": "shop"
         *       }
         *     }
         */
        ResumeCommand: {
            filter: components["schemas"]["QueueFilter"];
            /** @description Only count. */
            dryRun?: boolean | null;
            /** @description The nextCursor of the request before. */
            cursor?: string | null;
        };
        BulkResult: {
            /** @description Those that the filter chose and the command is for. */
            matched: number;
            /** @description Of these; 0 in a dry run. */
            done: number;
            /** @description Of these. */
            refused: number;
            /** @description How many were refused, by code. */
            refusals: {
                [key: string]: number;
            };
            /** @description To go on with; null at the end. */
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @description Where a transaction stands, in words for people and in codes for programs.
         * @example {
         *       "state": "WAITING",
         *       "since": "2026-03-01T12:00:00.000Z",
         *       "summary": "Third in its queue; the first waits for a block.",
         *       "waitingFor": {
         *         "code": "QUEUE_HEAD",
         *         "until": null,
         *         "detail": "vote-15"
         *       },
         *       "attempts": [],
         *       "next": {
         *         "action": "BIND",
         *         "at": null
         *       }
         *     }
         */
        Explanation: {
            state: components["schemas"]["State"];
            since: components["schemas"]["Time"];
            summary: string;
            waitingFor: {
                /** @enum {unknown} */
                code: "QUEUE_HEAD" | "BEHIND" | "BARRIER" | "BROKEN" | "HELD" | "PAUSED" | "NOT_BEFORE" | "FEE_LIMIT" | "CALLBACK" | "PROCESS" | "RECOVERY" | "STORE" | "NODES" | "FREE_SENDER" | "WORKER" | "LEDGER" | "SENDING" | "BLOCK" | "CONFIRMATIONS" | "SETTLEMENT" | "EXPIRY" | "RETRY_DELAY" | "FINALITY" | "PERSON" | "NOTHING";
                /** @description When the wait ends by itself, at the latest. */
                until: components["schemas"]["Time"];
                detail: components["schemas"]["Text"];
            };
            attempts: components["schemas"]["SeenAttempt"][];
            next: {
                /** @enum {unknown} */
                action: "BIND" | "ASK_WORKER" | "SUBMIT" | "SEND" | "WATCH" | "SEND_AGAIN" | "RAISE_FEE" | "WEIGH" | "RETRY" | "FINISH" | "END" | "FINAL" | "REMOVE" | "TELL" | "RESUME" | "DECIDE" | "RESOLVE" | "NONE";
                /** @description When at the latest. */
                at: components["schemas"]["Time"];
            };
        };
        /** @description An attempt with what the chain says of it now. */
        SeenAttempt: {
            number: number;
            sender: components["schemas"]["Text"];
            nonce: number | null;
            fee: components["schemas"]["Nanomina"] | null;
            /** @description As it was signed. */
            weight: components["schemas"]["Weight"];
            estimate: components["schemas"]["Estimate"];
            hash: components["schemas"]["Hash"];
            outcome: components["schemas"]["Outcome"];
            /** @description It may still land. */
            open: boolean;
            /** @enum {unknown} */
            place: "block" | "pool" | "nowhere" | "unknown";
            /** @description Every synced node says so. */
            agreed: boolean;
            blockHeight: number | null;
            stateHash: components["schemas"]["Text"];
            /** @description Of its block, the tip being 1. */
            depth: number | null;
            detail: components["schemas"]["Text"];
            startedAt: components["schemas"]["Time"];
            endedAt: components["schemas"]["Time"];
        };
        /**
         * @example {
         *       "name": "plan-p1",
         *       "state": "FREE",
         *       "sender": null,
         *       "running": null,
         *       "inFlight": [],
         *       "width": 6,
         *       "retries": 0,
         *       "counts": {
         *         "WAITING": 2,
         *         "DISPATCHING": 0,
         *         "REVISION": 0,
         *         "RETRY": 0,
         *         "DONE": 17,
         *         "FAILED": 0,
         *         "UNRESOLVED": 0
         *       },
         *       "paused": true,
         *       "reason": "maintenance",
         *       "pausedUntil": null,
         *       "nextAt": null,
         *       "oldestWaitingAt": "2026-03-01T11:58:30.000Z"
         *     }
         */
        Queue: {
            name: components["schemas"]["QueueName"];
            state: components["schemas"]["QueueState"];
            /** @description The sender that is bound to it. */
            sender: components["schemas"]["Text"];
            /** @description The uid of the transaction under way. */
            running: components["schemas"]["UidOrNone"];
            /** @description The uids of all that are under way, in order; `running` is the first of them, and `state` is its. */
            inFlight: components["schemas"]["Uid"][];
            /** @description How many of it may be in flight and in no block: what a person has set, else SEQUENCER_WIDTH. */
            width: number;
            retries: number;
            /** @description How many transactions it has of each state. */
            counts: {
                WAITING: number;
                DISPATCHING: number;
                REVISION: number;
                RETRY: number;
                DONE: number;
                FAILED: number;
                UNRESOLVED: number;
            };
            paused: boolean;
            /** @description Why it is paused. */
            reason: components["schemas"]["Text"];
            /** @description When it resumes by itself. */
            pausedUntil: components["schemas"]["Time"];
            /** @description When a delay or a wait for a callback ends. */
            nextAt: components["schemas"]["Time"];
            /** @description When the next of its waiting transactions was received. */
            oldestWaitingAt: components["schemas"]["Time"];
        };
        QueuePage: {
            items: components["schemas"]["Queue"][];
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @example {
         *       "reason": "maintenance",
         *       "until": "2026-03-01T14:00:00.000Z"
         *     }
         */
        Pause: {
            /** @description For people; 200 characters without the white space around it. */
            reason?: string | null;
            /** @description When it resumes by itself; else somebody has to resume it. */
            until?: components["schemas"]["Time"];
        };
        /**
         * @example {
         *       "width": 6
         *     }
         */
        Width: {
            /** @description How many of the queue may be in flight and in no block; null for SEQUENCER_WIDTH. */
            width: number | null;
        };
        /**
         * @example {
         *       "accountId": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *       "workerUrl": "http://10.0.0.7:3101",
         *       "state": "FREE",
         *       "queue": null,
         *       "retries": 0,
         *       "nonce": 12,
         *       "balance": "25000000000",
         *       "available": true,
         *       "reason": null,
         *       "detail": null,
         *       "since": null,
         *       "until": null,
         *       "remedy": null,
         *       "command": null,
         *       "claim": null
         *     }
         */
        Sender: {
            accountId: components["schemas"]["SenderId"];
            /** @description The ledger's of a slot; local for a worker that the service runs. Credentials are not shown. */
            workerUrl: components["schemas"]["Text"];
            state: components["schemas"]["QueueState"];
            /** @description The queue that it is bound to. */
            queue: components["schemas"]["Text"];
            retries: number;
            /** @description The next one. */
            nonce: number | null;
            /** @description In nanomina, what it may spend (Mina's liquid balance), as last seen. */
            balance: string | null;
            available: boolean;
            /**
             * @description Why it is not available: the gravest of what there may be. `NO_PROCESS`: it is free, and no process that runs could bind it now; `detail` says why, and since when.
             * @enum {unknown}
             */
            reason: "OUTCOME_UNKNOWN" | "STOPPED_NONCE" | "WRONG_NETWORK" | "WRONG_ACCOUNT" | "LOW_BALANCE" | "DRAINING" | "RESTED" | "NO_PROCESS" | null;
            detail: components["schemas"]["Text"];
            /** @description When it went out of use for that. */
            since: components["schemas"]["Time"];
            until: components["schemas"]["Time"];
            /** @description What ends that it is out of use. */
            remedy: components["schemas"]["Text"];
            /** @description The line of a shell that does so; null where none does. */
            command: components["schemas"]["Text"];
            /** @description The process that drives what it carries. Null while it is free. */
            claim: components["schemas"]["Claim"];
        };
        SenderPage: {
            items: components["schemas"]["Sender"][];
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @example {
         *       "accountId": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *       "workerUrl": "http://10.0.0.7:3101"
         *     }
         */
        NewSender: {
            accountId: components["schemas"]["AccountId"];
            /** @description http:// or https://, without user, query and fragment: it is shown. */
            workerUrl: string;
        };
        ProverId: string;
        /**
         * @description A worker without a payer's key, as the process that answers sees it.
         * @example {
         *       "id": "10.0.1.1:3000",
         *       "url": "http://10.0.1.1:3000",
         *       "source": "config",
         *       "state": "PROVING",
         *       "types": [
         *         "SEND_CLAIM_VOTE"
         *       ],
         *       "atOnce": 1,
         *       "load": 1,
         *       "memory": 3221225472,
         *       "proofsLastHour": 84,
         *       "available": true,
         *       "reason": null,
         *       "detail": null,
         *       "since": null,
         *       "until": null
         *     }
         */
        Prover: {
            id: components["schemas"]["ProverId"];
            /** @description Credentials are not shown. */
            url: components["schemas"]["Text"];
            /**
             * @description Who registered it.
             * @enum {unknown}
             */
            source: "api" | "config";
            /**
             * @description Whether this process has something proved by it.
             * @enum {unknown}
             */
            state: "FREE" | "PROVING";
            /** @description That it makes, by its health. */
            types: string[];
            /** @description How many it proves at a time, by its health. */
            atOnce: number;
            /** @description How many this process has proved by it now. */
            load: number;
            /** @description Bytes that it takes up, by its health. */
            memory: number | null;
            /** @description By its health or, if that does not say, those that this process got from it. */
            proofsLastHour: number;
            available: boolean;
            /**
             * @description Why it is not available. `WRONG_ACCOUNT`: it has the key of a sender, and a prover has none.
             * @enum {unknown}
             */
            reason: "DRAINING" | "RESTED" | "WRONG_ACCOUNT" | "WRONG_NETWORK" | null;
            detail: components["schemas"]["Text"];
            /** @description When it went out of use for that. */
            since: components["schemas"]["Time"];
            /** @description When it is asked for its health again; null where a person has to see to it. */
            until: components["schemas"]["Time"];
        };
        ProverPage: {
            items: components["schemas"]["Prover"][];
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @example {
         *       "url": "http://10.0.1.1:3000"
         *     }
         */
        NewProver: {
            /** @description http:// or https://, without user, query and fragment: it is shown. */
            url: string;
            /** @description Of your own; without one it is host and port, and what the path says. */
            id?: string | null;
        };
        /**
         * @description One change. from and to are states of the transaction, equal where only its queue moved on or code says all; from is null for a new transaction, to for one that was removed. Events of queues and senders have a code and no states. queueFrom and queueTo are what the queue shows before and after it, as GET /queues does: the state of what is under way, of several that of the first. They are equal where it did not move, as in an event of one behind the first, and null for senders. Each queueFrom is the queueTo of the queue's event before: a follower misses no state that was stored.
         * @example {
         *       "id": "1790000000000-4712",
         *       "at": "2026-03-01T12:00:05.000Z",
         *       "uid": "vote-17",
         *       "queue": "plan-p1",
         *       "type": "COMMIT_ALL_VOTING_BATCHES",
         *       "sender": null,
         *       "from": "RETRY",
         *       "to": "FAILED",
         *       "queueFrom": "DELAY",
         *       "queueTo": "FREE",
         *       "attempt": 3,
         *       "code": null,
         *       "actor": null
         *     }
         */
        Event: {
            /** @description <epoch>-<number>. The epoch changes when the store has lost events. */
            id: string;
            at: components["schemas"]["Time"];
            uid: components["schemas"]["UidOrNone"];
            queue: components["schemas"]["Text"];
            type: components["schemas"]["Text"];
            sender: components["schemas"]["Text"];
            from: components["schemas"]["State"] | null;
            to: components["schemas"]["State"] | null;
            queueFrom: components["schemas"]["QueueState"] | null;
            queueTo: components["schemas"]["QueueState"] | null;
            attempt: number | null;
            code: components["schemas"]["Text"];
            /** @description Whose word it was: the name of the key by which a person, or a program for one, paused, cancelled, retried, resolved, removed, drained … it. Null for what happened by itself, for posts, and where nobody needs a key. */
            actor: components["schemas"]["Text"];
        };
        Readiness: {
            ready: boolean;
            store: components["schemas"]["Part"];
            chain: components["schemas"]["Part"];
            senders: components["schemas"]["Part"];
            ledgers: components["schemas"]["Part"];
            /** @description The clock of the process that answers, beside that of the store. */
            clock: components["schemas"]["Part"];
            /** @description With full, how many a limit has paused until a person resumes them. It decides nothing: others go on. */
            queues: components["schemas"]["Part"];
        };
        Part: {
            ok: boolean;
            detail?: string;
        };
        /**
         * @description An error in the form of RFC 9457. Programs switch on code, which never changes its meaning; detail says what to do.
         * @example {
         *       "code": "INVALID_DATA",
         *       "type": "/docs/codes#problem.INVALID_DATA",
         *       "title": "Some fields are not as they have to be",
         *       "status": 422,
         *       "detail": "Nothing was changed. Correct the fields under errors and send it again.",
         *       "errors": [
         *         {
         *           "field": "data.planUid",
         *           "message": "must be a string of 1 to 64 characters"
         *         }
         *       ]
         *     }
         */
        Problem: {
            /** @enum {unknown} */
            code: "UNKNOWN_TYPE" | "INVALID_DATA" | "KEY_REUSED" | "NOT_FOUND" | "NOT_CANCELLABLE" | "NOT_RETRYABLE" | "MIGHT_STILL_LAND" | "CONTRADICTED" | "SENDER_BOUND" | "SENDER_EXISTS" | "PROVER_EXISTS" | "WEBHOOK_EXISTS" | "WEBHOOK_CONFIGURED" | "TOO_MANY_WEBHOOKS" | "TOO_LARGE" | "BAD_CURSOR" | "BAD_REQUEST" | "STORE_UNAVAILABLE" | "STORE_FULL" | "TOO_MANY_WAITING" | "RATE_LIMITED" | "TOO_SLOW" | "UNAUTHORIZED" | "FORBIDDEN" | "EVENTS_GONE" | "SIMULATORS_BUSY";
            /**
             * Format: uri-reference
             * @description Where the service explains the code, relative to its address: for people. Programs switch on code.
             */
            type: string;
            title: string;
            status: number;
            detail: string;
            errors?: {
                /** @description A path, such as data.strategy.requiredVotes. */
                field: string;
                message: string;
            }[];
        };
        /** @description One, and one more for each account update: pools rank commands by fee for each unit of it. null where no worker has signed any. */
        Weight: number | null;
        /**
         * @description POOL: what others pay; FLOOR: they pay less than SEQUENCER_FEE_MIN; CAP: they pay more than SEQUENCER_FEE_MAX, or than its maxFee; UNKNOWN: no node has told lately what they pay.
         * @enum {unknown}
         */
        EstimateReason: "POOL" | "FLOOR" | "CAP" | "UNKNOWN";
        /**
         * @description What a fee was estimated from; null where SEQUENCER_FEE is a number. A fee that replaces another, or that follows one that expired, may be higher.
         * @example {
         *       "fee": "279000009",
         *       "feePerWeight": "31000001",
         *       "weight": 9,
         *       "why": "POOL"
         *     }
         */
        Estimate: {
            fee: components["schemas"]["Nanomina"];
            /** @description What others made it pay for each unit of weight, nanomina; null if nothing. */
            feePerWeight: components["schemas"]["Nanomina"] | null;
            /** @description That it was supposed to have. */
            weight: number;
            why: components["schemas"]["EstimateReason"];
        } | null;
        /**
         * @example {
         *       "pool": {
         *         "at": "2026-03-01T12:00:00.000Z",
         *         "size": 31,
         *         "capacity": 12,
         *         "ranks": [
         *           {
         *             "blocks": 1,
         *             "feePerWeight": "31000000"
         *           },
         *           {
         *             "blocks": 2,
         *             "feePerWeight": "12000000"
         *           }
         *         ]
         *       },
         *       "types": [
         *         {
         *           "type": "SEND_CLAIM_VOTE",
         *           "weight": 9,
         *           "fee": "279000009",
         *           "why": "POOL",
         *           "feePerWeight": "31000001"
         *         }
         *       ],
         *       "spent": [
         *         {
         *           "day": "2026-03-01",
         *           "sender": "B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS",
         *           "queue": null,
         *           "fee": "279000009"
         *         },
         *         {
         *           "day": "2026-03-01",
         *           "sender": null,
         *           "queue": "plan-p1",
         *           "fee": "279000009"
         *         }
         *       ]
         *     }
         */
        Fees: {
            /** @description The last look at the pool of a node; null if there was none in a day, as where SEQUENCER_FEE is a number. */
            pool: {
                at: components["schemas"]["Time"];
                /** @description Commands of any kind. */
                size: number;
                /** @description zkApp commands that a block takes. */
                capacity: number;
                /** @description What others pay at the end of the next blocks, if nobody came any more; empty where all that waits fits into one. */
                ranks: {
                    blocks: number;
                    feePerWeight: components["schemas"]["Nanomina"];
                }[];
            } | null;
            /** @description What the first attempt of each type would pay now. */
            types: {
                type: components["schemas"]["TypeName"];
                /** @description As its workers signed last. */
                weight: components["schemas"]["Weight"];
                fee: components["schemas"]["Nanomina"];
                /** @description null where SEQUENCER_FEE is a number. */
                why: components["schemas"]["EstimateReason"] | null;
                feePerWeight: components["schemas"]["Nanomina"] | null;
            }[];
            /** @description What attempts that were begun on the last seven days cost, or may still cost, the latest day first: by sender, and by the hundred queues of each day that cost most. */
            spent: {
                /**
                 * Format: date
                 * @description UTC.
                 */
                day: string;
                sender: components["schemas"]["Text"];
                /** @description One of the two is null. */
                queue: components["schemas"]["Text"];
                fee: components["schemas"]["Nanomina"];
            }[];
        };
        /**
         * @example {
         *       "at": "2026-03-01T12:00:00.000Z",
         *       "counts": {
         *         "WAITING": 12,
         *         "DISPATCHING": 1,
         *         "REVISION": 2,
         *         "RETRY": 0,
         *         "DONE": 240,
         *         "FAILED": 1,
         *         "UNRESOLVED": 0
         *       },
         *       "queues": 17,
         *       "oldestAt": "2026-03-01T11:58:30.000Z",
         *       "rates": {
         *         "seconds": 300,
         *         "accepted": 9,
         *         "done": 7,
         *         "retried": 1,
         *         "failed": 0
         *       },
         *       "senders": {
         *         "free": 0,
         *         "bound": 3,
         *         "out": 1,
         *         "reasons": {
         *           "DRAINING": 1
         *         }
         *       },
         *       "stops": [
         *         {
         *           "prefix": "shop-",
         *           "reason": "the key of the shop has leaked",
         *           "since": "2026-03-01T11:40:00.000Z",
         *           "until": null,
         *           "by": "ops"
         *         }
         *       ],
         *       "recovering": null,
         *       "troubles": [
         *         {
         *           "code": "CLOCK",
         *           "detail": "The clock of this process is 10m0s ahead of that of Redis: set both by NTP",
         *           "queue": null,
         *           "sender": null,
         *           "command": null
         *         }
         *       ],
         *       "chain": {
         *         "ok": true,
         *         "synced": 2,
         *         "nodes": 2,
         *         "height": 412345,
         *         "tipSlot": 612345,
         *         "slot": 612346,
         *         "slotMillis": 180000,
         *         "network": "mina:mainnet",
         *         "at": "2026-03-01T11:59:58.000Z",
         *         "detail": null
         *       },
         *       "ledgers": [
         *         {
         *           "name": "orders",
         *           "ok": true,
         *           "waiting": 3,
         *           "inFlight": 8,
         *           "slots": 8,
         *           "slotsOut": 0,
         *           "oldestAt": "2026-03-01T11:59:40.000Z",
         *           "at": "2026-03-01T11:59:58.000Z",
         *           "detail": null
         *         }
         *       ],
         *       "recent": [
         *         {
         *           "id": "0-42",
         *           "at": "2026-03-01T11:59:57.000Z",
         *           "uid": "vote-17",
         *           "queue": "plan-p1",
         *           "type": "COMMIT_ALL_VOTING_BATCHES",
         *           "sender": null,
         *           "from": null,
         *           "to": "WAITING",
         *           "queueFrom": "FREE",
         *           "queueTo": "FREE",
         *           "attempt": null,
         *           "code": null,
         *           "actor": null
         *         }
         *       ]
         *     }
         */
        Overview: {
            /** @description By the clock of the store. */
            at: components["schemas"]["Time"];
            /** @description Transactions by state. */
            counts: {
                WAITING: number;
                DISPATCHING: number;
                REVISION: number;
                RETRY: number;
                DONE: number;
                FAILED: number;
                UNRESOLVED: number;
            };
            queues: number;
            /** @description When the oldest transaction was received that is bound or could be; paused queues are left out. */
            oldestAt: components["schemas"]["Time"];
            /** @description Transactions that passed within the last so many seconds: five minutes, or less where very much happened, or nothing before. */
            rates: {
                seconds: number;
                accepted: number;
                done: number;
                retried: number;
                /** @description Or unresolved. */
                failed: number;
            };
            /** @description Of the first 500 senders. One that is drained is bound until it has finished. */
            senders: {
                free: number;
                bound: number;
                /** @description Neither bound nor available. */
                out: number;
                /** @description Those not available, bound ones too, by reason. */
                reasons: {
                    [key: string]: number;
                };
            };
            /** @description What was said of all queues whose names begin alike, for those that come to be, in the order in which it was said: of those that fit a queue the last holds. */
            stops: {
                prefix: string;
                /** @description Why they are paused; null: they run, though another one would hold them. */
                reason: components["schemas"]["Text"];
                since: components["schemas"]["Time"];
                /** @description null: until somebody resumes them. */
                until: components["schemas"]["Time"];
                /** @description The name of the API key by which it was said; null: nobody needs one. */
                by: components["schemas"]["Text"];
            }[];
            /** @description Why this process binds and sends nothing, after its start or a restart or failover of Redis; null: it does. */
            recovering: components["schemas"]["Text"];
            /** @description What else a person has to see to: the first ten queues that a limit has paused and the first ten senders that do not come back by themselves, with how many more there are, and what ails the process that is asked. */
            troubles: {
                /** @description Of doctor's where it has one (QUEUE_PAUSED, SENDER_OUT, REDIS_FULL and others); CLOCK: the clocks of the process and of Redis differ; SENDING: what is signed gets to no node; RACES: two queues require what the other changes. */
                code: string;
                /** @description What is so, since when where that is known, and what to do. */
                detail: string;
                /** @description That it is about. */
                queue: components["schemas"]["Text"];
                /** @description That it is about. */
                sender: components["schemas"]["Text"];
                /** @description The line of a shell that ends it; null where none does. */
                command: components["schemas"]["Text"];
            }[];
            /** @description null without a Mina node. */
            chain: {
                /** @description A quorum of nodes is synced. */
                ok: boolean;
                synced: number;
                nodes: number;
                /** @description Of the lowest tip. */
                height: number | null;
                /** @description Slot since genesis of that tip. */
                tipSlot: number | null;
                /** @description The current one by the clock, when the nodes were asked. */
                slot: number | null;
                slotMillis: number;
                network: components["schemas"]["Text"];
                /** @description When the nodes were asked. */
                at: components["schemas"]["Time"];
                /** @description Why it is not ok, or why a node has no vote. */
                detail: components["schemas"]["Text"];
            } | null;
            /** @description Ledgers that take batches: those of this process, and those with slots or batches. */
            ledgers: {
                name: string;
                /** @description It answers this process, and turns no batch away; null: this process has not asked it yet, or does not know it. */
                ok: boolean | null;
                /** @description Batches. */
                waiting: number;
                /** @description Batches that have a slot. */
                inFlight: number;
                slots: number;
                /** @description Slots that are out of use. */
                slotsOut: number;
                /** @description As above, of its batches. */
                oldestAt: components["schemas"]["Time"];
                /** @description When this process asked it last. */
                at: components["schemas"]["Time"];
                /** @description Why it is not ok. */
                detail: components["schemas"]["Text"];
            }[];
            /** @description The last events, the newest first. */
            recent: components["schemas"]["Event"][];
        };
        /**
         * @example {
         *       "seconds": 60,
         *       "parts": 60,
         *       "items": [
         *         {
         *           "at": "2026-03-01T11:59:00.000Z",
         *           "accepted": 9,
         *           "done": 7,
         *           "failed": 0,
         *           "retried": 1,
         *           "fees": "700000000",
         *           "waiting": 12,
         *           "bound": 3,
         *           "medianMs": 240000,
         *           "slowMs": 412000
         *         }
         *       ]
         *     }
         */
        History: {
            /** @description How long each part is. */
            seconds: number;
            /** @description How many there are of them at most; the last is the one under way. */
            parts: number;
            items: {
                /** @description When it began. */
                at: components["schemas"]["Time"];
                accepted: number;
                done: number;
                /** @description Or unresolved. */
                failed: number;
                retried: number;
                /** @description That blocks have taken. */
                fees: components["schemas"]["Nanomina"];
                /** @description When a process last looked. */
                waiting: number;
                /** @description That had a sender when a process last looked. */
                bound: number;
                /** @description Within which half of the DONE became so since they were accepted, about; 0 if none did. */
                medianMs: number;
                /** @description The same of 95 in a hundred. */
                slowMs: number;
            }[];
        };
        /**
         * @example {
         *       "required": true,
         *       "name": "ops",
         *       "scope": "admin",
         *       "queues": null
         *     }
         * @example {
         *       "required": true,
         *       "name": "shop",
         *       "scope": "submit",
         *       "queues": [
         *         "shop-"
         *       ]
         *     }
         * @example {
         *       "required": true,
         *       "name": null,
         *       "scope": null,
         *       "queues": null
         *     }
         */
        Session: {
            /** @description A key is needed; without any configured, everybody may do everything. */
            required: boolean;
            /** @description Of the key. */
            name: components["schemas"]["Text"];
            /** @enum {unknown} */
            scope: "read" | "submit" | "admin" | null;
            /** @description How the names of the queues begin that the key is limited to; null: it is not. */
            queues: string[] | null;
        };
        Login: {
            /** @description One of the keys configured. */
            key: string;
        };
        /** @description A transaction to accept. Its type says what its data has to be. */
        NewTransaction: components["schemas"]["NewCreateClaimVotingAccount"] | components["schemas"]["NewSendClaimVote"] | components["schemas"]["NewCreateVotingBatchesAccount"] | components["schemas"]["NewReceiveVotesBatch"] | components["schemas"]["NewCommitAllVotingBatches"] | components["schemas"]["NewSubmitBatch"] | components["schemas"]["NewOtherTransaction"];
        /**
         * @description Deploys the account that counts the votes on one claim.
         * @example {
         *       "queue": "claim-0123456789abcdef0123456789abcdef",
         *       "type": "CREATE_CLAIM_VOTING_ACCOUNT",
         *       "data": {
         *         "claimUid": "0123456789abcdef0123456789abcdef",
         *         "strategy": {
         *           "requiredVotes": 3,
         *           "requiredPositives": 1
         *         }
         *       }
         *     }
         */
        NewCreateClaimVotingAccount: {
            queue: components["schemas"]["QueueName"];
            /** @constant */
            type: "CREATE_CLAIM_VOTING_ACCOUNT";
            data: components["schemas"]["CreateClaimVotingAccount"];
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /**
         * @description Adds the vote of one elector to a claim's account.
         * @example {
         *       "queue": "claim-0123456789abcdef0123456789abcdef",
         *       "type": "SEND_CLAIM_VOTE",
         *       "data": {
         *         "planUid": "p1",
         *         "batchUid": "b1",
         *         "claimUid": "0123456789abcdef0123456789abcdef",
         *         "electorAccountId": "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg",
         *         "index": 17,
         *         "vote": 1
         *       },
         *       "uid": "vote-17",
         *       "maxFee": "500000000",
         *       "notBefore": null,
         *       "expiresAt": "2026-03-01T18:00:00Z"
         *     }
         */
        NewSendClaimVote: {
            queue: components["schemas"]["QueueName"];
            /** @constant */
            type: "SEND_CLAIM_VOTE";
            data: components["schemas"]["SendClaimVote"];
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /**
         * @description Deploys the account that collects a plan's batches of votes.
         * @example {
         *       "queue": "plan-p1",
         *       "type": "CREATE_VOTING_BATCHES_ACCOUNT",
         *       "data": {
         *         "planUid": "p1",
         *         "communityUid": "c1"
         *       }
         *     }
         */
        NewCreateVotingBatchesAccount: {
            queue: components["schemas"]["QueueName"];
            /** @constant */
            type: "CREATE_VOTING_BATCHES_ACCOUNT";
            data: components["schemas"]["CreateVotingBatchesAccount"];
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /**
         * @description Takes in the votes that one elector has signed.
         * @example {
         *       "queue": "batch-b1",
         *       "type": "RECEIVE_VOTES_BATCH",
         *       "data": {
         *         "batchUid": "b1",
         *         "senderAccountId": "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg",
         *         "signedData": {
         *           "publicKey": "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg",
         *           "data": [
         *             "25846917694071202122628358714903411448078388085409915347534156100487291322936",
         *             "22630786693418825794858159934446249318349542286657604863129461504077677641035",
         *             "6049464300816683716198329417626236863"
         *           ],
         *           "signature": {
         *             "field": "18318451778099969839436724756829684498885407443730951830904873054711569540687",
         *             "scalar": "5377689558802489908317000941007403851034177094499701616462660453732112234271"
         *           }
         *         }
         *       }
         *     }
         * @example {
         *       "queue": "batch-b2",
         *       "type": "RECEIVE_VOTES_BATCH",
         *       "data": {
         *         "batchUid": "b2",
         *         "senderAccountId": "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg",
         *         "signedData": {
         *           "publicKey": "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg",
         *           "data": "[{\"claimUid\":\"0123456789abcdef0123456789abcdef\",\"planUid\":\"p1\",\"result\":\"1\"}]",
         *           "signature": {
         *             "field": "900582993293264109167410746477921531669681826031235753798997888316206626967",
         *             "scalar": "19097057606937869355980205040478274059858709023016712419212189779110894445081"
         *           }
         *         }
         *       }
         *     }
         */
        NewReceiveVotesBatch: {
            queue: components["schemas"]["QueueName"];
            /** @constant */
            type: "RECEIVE_VOTES_BATCH";
            data: components["schemas"]["ReceiveVotesBatch"];
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /**
         * @description Closes a plan with everything that its batches hold.
         * @example {
         *       "queue": "plan-p1",
         *       "type": "COMMIT_ALL_VOTING_BATCHES",
         *       "data": {
         *         "planUid": "p1"
         *       }
         *     }
         * @example {
         *       "queue": "plan-p1",
         *       "type": "COMMIT_ALL_BATCHES",
         *       "data": {
         *         "planUid": "p1"
         *       }
         *     }
         */
        NewCommitAllVotingBatches: {
            queue: components["schemas"]["QueueName"];
            /**
             * @description The second is another name of the first, which the transaction has in either case.
             * @enum {unknown}
             */
            type: "COMMIT_ALL_VOTING_BATCHES" | "COMMIT_ALL_BATCHES";
            data: components["schemas"]["CommitAllVotingBatches"];
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /**
         * @description Hands a signed batch to a ledger, Sawtooth or Scabbard (SEQUENCER_LEDGERS). The ledger and the id of the batch are a key of their own: the same again in the same queue is answered with the first transaction, in another one with KEY_REUSED.
         * @example {
         *       "queue": "orders",
         *       "type": "SUBMIT_BATCH",
         *       "data": {
         *         "ledger": "sawtooth",
         *         "batchId": "70e344c78d8d2befc6117513ab6e00bf0b6c44f4f82ec1c8f0535acdd3e2f8140cdad850b32a044023df8d0e9aa321aaedf3fa15f6c599fd8ea3810fdee42cac",
         *         "batchList": "CoUGCscBCkIwMjQ0MTVmY2M1M2RlNjAzOGQ5MGUyNDc0MGM4MDc4OGFhOTZhNjcwMDU0MTBhYzUzZWJmMmU2YTI2MjliZGFhYTISgAE5NTU5OGIxNWIyNjIyNDYzZjMzZDQyNzEzZTA0M2JkNjE4MzYzMTBjNDQzYjk5MjA3YjUxZWU2ZWQwZjljMWI2NDUyYzM5MWU3MzI5ZWM3ZmFhZGUyZGY4ZDRkNjdkNmViY2YzOTAzNmQwOTFhMWNmYThkNzYwOGZlN2VlOTQ5MhKAATcwZTM0NGM3OGQ4ZDJiZWZjNjExNzUxM2FiNmUwMGJmMGI2YzQ0ZjRmODJlYzFjOGYwNTM1YWNkZDNlMmY4MTQwY2RhZDg1MGIzMmEwNDQwMjNkZjhkMGU5YWEzMjFhYWVkZjNmYTE1ZjZjNTk5ZmQ4ZWEzODEwZmRlZTQyY2FjGrUDCqECCkIwMjQ0MTVmY2M1M2RlNjAzOGQ5MGUyNDc0MGM4MDc4OGFhOTZhNjcwMDU0MTBhYzUzZWJmMmU2YTI2MjliZGFhYTIaBmludGtleSIDMS4wMgdleGFtcGxlSoABZDAwMGQ4MGI5ZDc2ZjQxZjE0YTllMGFlNTgxNjRlYWJlYTMxNzc3Yjk3NDRiYzcyNDQ0ZDkyZmY1MmIwMDVjMTA5MmY2MmM3YmUyZDliYjBiNWY1Y2I2OThkNzY2ZjM1NzA5NzJmOTVhM2UxN2Q2MDlhMjIzYTA0ZDE2ZGFhNTZSQjAyNDQxNWZjYzUzZGU2MDM4ZDkwZTI0NzQwYzgwNzg4YWE5NmE2NzAwNTQxMGFjNTNlYmYyZTZhMjYyOWJkYWFhMhKAATk1NTk4YjE1YjI2MjI0NjNmMzNkNDI3MTNlMDQzYmQ2MTgzNjMxMGM0NDNiOTkyMDdiNTFlZTZlZDBmOWMxYjY0NTJjMzkxZTczMjllYzdmYWFkZTJkZjhkNGQ2N2Q2ZWJjZjM5MDM2ZDA5MWExY2ZhOGQ3NjA4ZmU3ZWU5NDkyGgxzZXQgYXBwbGVzIDM="
         *       }
         *     }
         */
        NewSubmitBatch: {
            queue: components["schemas"]["QueueName"];
            /** @constant */
            type: "SUBMIT_BATCH";
            data: components["schemas"]["SubmitBatch"];
            uid?: components["schemas"]["ChosenUid"];
        };
        /**
         * @description A transaction of a type that is done wholly by its worker (SEQUENCER_WORKER_TYPES).
         * @example {
         *       "queue": "counter-1",
         *       "type": "COUNT",
         *       "data": {
         *         "by": 1
         *       }
         *     }
         */
        NewOtherTransaction: {
            queue: components["schemas"]["QueueName"];
            type: string;
            /** @description Whatever the worker takes. */
            data: {
                [key: string]: unknown;
            };
            uid?: components["schemas"]["ChosenUid"];
            maxFee?: components["schemas"]["MaxFee"];
            notBefore?: components["schemas"]["NotBefore"];
            expiresAt?: components["schemas"]["ExpiresAt"];
        };
        /** @description Data of CREATE_CLAIM_VOTING_ACCOUNT. */
        CreateClaimVotingAccount: {
            claimUid: components["schemas"]["ClaimUid"];
            strategy: {
                /**
                 * Format: bigint
                 * @description Of any size, written in digits.
                 */
                requiredVotes: number | bigint;
                /**
                 * Format: bigint
                 * @description At most requiredVotes.
                 */
                requiredPositives: number | bigint;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description Data of SEND_CLAIM_VOTE. */
        SendClaimVote: {
            planUid: components["schemas"]["ShortUid"];
            batchUid: components["schemas"]["ShortUid"];
            claimUid: components["schemas"]["ClaimUid"];
            electorAccountId: components["schemas"]["AccountId"];
            /**
             * Format: bigint
             * @description The elector's place in the batch.
             */
            index: number | bigint;
            /** @enum {unknown} */
            vote: 1 | -1 | 0 | "1" | "+1" | "-1" | "0";
        } & {
            [key: string]: unknown;
        };
        /** @description Data of CREATE_VOTING_BATCHES_ACCOUNT. */
        CreateVotingBatchesAccount: {
            planUid: components["schemas"]["ShortUid"];
            communityUid: components["schemas"]["ShortUid"];
        } & {
            [key: string]: unknown;
        };
        /** @description Data of RECEIVE_VOTES_BATCH. */
        ReceiveVotesBatch: {
            batchUid: components["schemas"]["ShortUid"];
            senderAccountId: components["schemas"]["AccountId"];
            signedData: {
                publicKey: string;
                /** @description What was signed: an array or, as a wallet's signMessage gives it, a text that holds one. What is in it and the signature are for the worker to check. */
                data: unknown[] | string;
                signature: {
                    field: components["schemas"]["Element"];
                    scalar: components["schemas"]["Element"];
                } & {
                    [key: string]: unknown;
                };
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description Data of COMMIT_ALL_VOTING_BATCHES. */
        CommitAllVotingBatches: {
            planUid: components["schemas"]["ShortUid"];
        } & {
            [key: string]: unknown;
        };
        /** @description Data of SUBMIT_BATCH. Form, structure, hashes and signatures are checked before it is accepted. */
        SubmitBatch: {
            /** @description The name of a configured ledger. */
            ledger: string;
            /** @description The batch's header_signature. */
            batchId: string;
            /** @description A protobuf BatchList of exactly one batch, at most 10 MiB. */
            batchList: string;
            /** @description That of the batch. */
            trace?: boolean | null;
            /** @description The client's own. */
            dataChangeId?: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @example p1 */
        ShortUid: string;
        /** @example 0123456789abcdef0123456789abcdef */
        ClaimUid: string;
        /**
         * @description A field element or scalar: an integer of any size, or a string.
         * @example 18293748293749283749283749
         */
        Element: (number | bigint) | string;
        /** @example billing */
        WebhookId: string;
        /**
         * @example {
         *       "id": "billing",
         *       "url": "https://hooks.example/…",
         *       "types": null,
         *       "queues": [
         *         "plan-*"
         *       ],
         *       "states": [
         *         "DONE",
         *         "FAILED",
         *         "UNRESOLVED"
         *       ],
         *       "source": "api",
         *       "enabled": true,
         *       "reason": null,
         *       "disabledAt": null,
         *       "createdAt": "2026-01-05T09:00:00.000Z",
         *       "behind": 0,
         *       "behindSince": null,
         *       "parked": 0,
         *       "parkedBytes": 0,
         *       "waiting": 0,
         *       "dropped": 0,
         *       "restsUntil": null,
         *       "health": "WELL"
         *     }
         */
        Webhook: {
            id: components["schemas"]["WebhookId"];
            /** @description Without its path and its query, in which secrets are often kept: an ellipsis stands for them. */
            url: string;
            /** @description Only events of transactions of these types; null for all events. */
            types: string[] | null;
            /** @description Only events of these queues; with a * behind it a name is how others begin. */
            queues: string[] | null;
            /** @description Only events of transactions whose to is one of these. */
            states: ("WAITING" | "DISPATCHING" | "REVISION" | "RETRY" | "DONE" | "FAILED" | "UNRESOLVED")[] | null;
            /**
             * @description Who defined it; file: SEQUENCER_WEBHOOKS_FILE.
             * @enum {unknown}
             */
            source: "api" | "file";
            enabled: boolean;
            /**
             * @description Why it is not: it answered 410, a person wants it so, or its file names it no longer.
             * @enum {unknown}
             */
            reason: "GONE" | "DISABLED" | "UNCONFIGURED" | null;
            disabledAt: components["schemas"]["Time"];
            createdAt: components["schemas"]["Time"];
            /** @description Events of the log that it has not come to. */
            behind: number;
            /** @description When the first of them happened. */
            behindSince: components["schemas"]["Time"];
            /** @description Events that were not delivered at the first try or waited too long, and those that wait behind them. */
            parked: number;
            parkedBytes: number;
            /** @description Transactions, queues and senders whose first parked event has used the schedule up: it is tried again when a person asks for a replay. */
            waiting: number;
            /** @description Events that were lost because there was no room to park them. */
            dropped: number;
            /** @description Until when it has asked for nothing to be sent (429, Retry-After). */
            restsUntil: components["schemas"]["Time"];
            /**
             * @description How it is, of several the first: nothing is sent; its address is not one that webhooks may go to; events wait for a replay or were lost; it asked for patience, or the last try failed, or events are tried again.
             * @enum {unknown}
             */
            health: "DISABLED" | "REFUSED_ADDRESS" | "IN_TROUBLE" | "RETRYING" | "WELL";
        };
        WebhookWithSecret: {
            id: components["schemas"]["WebhookId"];
            /** @description Without its path and its query, in which secrets are often kept: an ellipsis stands for them. */
            url: string;
            /** @description Only events of transactions of these types; null for all events. */
            types: string[] | null;
            /** @description Only events of these queues; with a * behind it a name is how others begin. */
            queues: string[] | null;
            /** @description Only events of transactions whose to is one of these. */
            states: ("WAITING" | "DISPATCHING" | "REVISION" | "RETRY" | "DONE" | "FAILED" | "UNRESOLVED")[] | null;
            /**
             * @description Who defined it; file: SEQUENCER_WEBHOOKS_FILE.
             * @enum {unknown}
             */
            source: "api" | "file";
            enabled: boolean;
            /**
             * @description Why it is not: it answered 410, a person wants it so, or its file names it no longer.
             * @enum {unknown}
             */
            reason: "GONE" | "DISABLED" | "UNCONFIGURED" | null;
            disabledAt: components["schemas"]["Time"];
            createdAt: components["schemas"]["Time"];
            /** @description Events of the log that it has not come to. */
            behind: number;
            /** @description When the first of them happened. */
            behindSince: components["schemas"]["Time"];
            /** @description Events that were not delivered at the first try or waited too long, and those that wait behind them. */
            parked: number;
            parkedBytes: number;
            /** @description Transactions, queues and senders whose first parked event has used the schedule up: it is tried again when a person asks for a replay. */
            waiting: number;
            /** @description Events that were lost because there was no room to park them. */
            dropped: number;
            /** @description Until when it has asked for nothing to be sent (429, Retry-After). */
            restsUntil: components["schemas"]["Time"];
            /**
             * @description How it is, of several the first: nothing is sent; its address is not one that webhooks may go to; events wait for a replay or were lost; it asked for patience, or the last try failed, or events are tried again.
             * @enum {unknown}
             */
            health: "DISABLED" | "REFUSED_ADDRESS" | "IN_TROUBLE" | "RETRYING" | "WELL";
            /** @description whsec_ and 24 to 64 bytes in base64. */
            secret: string;
        };
        WebhookPage: {
            items: components["schemas"]["Webhook"][];
            nextCursor: components["schemas"]["Text"];
        };
        /**
         * @example {
         *       "id": "billing",
         *       "url": "https://hooks.example/mina?tenant=7",
         *       "queues": [
         *         "plan-*"
         *       ],
         *       "states": [
         *         "DONE",
         *         "FAILED",
         *         "UNRESOLVED"
         *       ]
         *     }
         */
        NewWebhook: {
            id: components["schemas"]["WebhookId"];
            /** @description https://, and http:// in networks that SEQUENCER_WEBHOOKS_PRIVATE names. */
            url: string;
            /** @description whsec_ and 24 to 64 bytes in base64. Without it one is made. */
            secret?: string | null;
            /** @description Only events of transactions of these types; null for all events. */
            types?: string[] | null;
            /** @description Only events of these queues; with a * behind it a name is how others begin. */
            queues?: string[] | null;
            /** @description Only events of transactions whose to is one of these. */
            states?: ("WAITING" | "DISPATCHING" | "REVISION" | "RETRY" | "DONE" | "FAILED" | "UNRESOLVED")[] | null;
        };
        /**
         * @description What is to be otherwise; what is left out stays as it is.
         * @example {
         *       "queues": [
         *         "plan-*"
         *       ],
         *       "states": null
         *     }
         */
        WebhookEdit: {
            /** @description https://, and http:// in networks that SEQUENCER_WEBHOOKS_PRIVATE names. */
            url?: string;
            /** @description Only events of transactions of these types; null for all events. */
            types?: string[] | null;
            /** @description Only events of these queues; with a * behind it a name is how others begin. */
            queues?: string[] | null;
            /** @description Only events of transactions whose to is one of these. */
            states?: ("WAITING" | "DISPATCHING" | "REVISION" | "RETRY" | "DONE" | "FAILED" | "UNRESOLVED")[] | null;
        };
        NewSecret: {
            /** @description whsec_ and 24 to 64 bytes in base64. Without it one is made. */
            secret?: string | null;
        };
        /**
         * @example {
         *       "after": "1767603600000-41"
         *     }
         */
        Replay: {
            /** @description All events behind this one are delivered once more. Without it what is parked is tried at once, as for the first time. */
            after?: string | null;
        };
        WebhookDelivery: {
            /** @description Its id. */
            event: string;
            at: components["schemas"]["Time"];
            try: number;
            delivered: boolean;
            /** @description What the endpoint answered. Its words are never shown. */
            status: number | null;
            /**
             * @description Why there was no answer. REFUSED_ADDRESS: it is in no public network, and in none of SEQUENCER_WEBHOOKS_PRIVATE.
             * @enum {unknown}
             */
            failure: "TIMEOUT" | "REFUSED_ADDRESS" | "UNREACHABLE" | null;
            tookMs: number;
        };
        WebhookDeliveryPage: {
            items: components["schemas"]["WebhookDelivery"][];
            nextCursor: components["schemas"]["Text"];
        };
        Parked: {
            /** @description What is delivered in order, as it is named to discard it. */
            lane: string;
            /** @enum {unknown} */
            of: "transaction" | "queue" | "sender";
            name: string;
            events: number;
            /** @description The event that the others wait for. */
            first: string;
            /** @description When that happened. */
            at: components["schemas"]["Time"];
            tries: number;
            /** @description null: when a person asks for a replay. */
            nextAt: components["schemas"]["Time"];
        };
        ParkedPage: {
            items: components["schemas"]["Parked"][];
            nextCursor: components["schemas"]["Text"];
        };
        /** @description What an endpoint gets: an event as those who follow the events get it, with its transaction as it was when this was sent; null where it is about none, or that is gone. */
        WebhookEvent: {
            /** @description The same as webhook-id: <epoch>-<number>, or ping-<number> for a test. */
            id: string;
            at: components["schemas"]["Time"];
            uid: components["schemas"]["UidOrNone"];
            queue: components["schemas"]["Text"];
            type: components["schemas"]["Text"];
            sender: components["schemas"]["Text"];
            from: components["schemas"]["State"] | null;
            to: components["schemas"]["State"] | null;
            queueFrom: components["schemas"]["QueueState"] | null;
            queueTo: components["schemas"]["QueueState"] | null;
            attempt: number | null;
            code: components["schemas"]["Text"];
            actor: components["schemas"]["Text"];
            transaction: components["schemas"]["Transaction"] | null;
        };
    };
    responses: {
        /** @description The request cannot be understood. BAD_REQUEST, BAD_CURSOR */
        BadRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No key, or one that is not known. UNAUTHORIZED */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": "Bearer";
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key's scope is too narrow, or a page of another site asks. FORBIDDEN */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It never existed, or it has been removed. NOT_FOUND */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description What is there does not allow it; the code says what. KEY_REUSED, NOT_CANCELLABLE, NOT_RETRYABLE, MIGHT_STILL_LAND, CONTRADICTED, SENDER_BOUND, SENDER_EXISTS, PROVER_EXISTS, WEBHOOK_EXISTS, WEBHOOK_CONFIGURED, TOO_MANY_WEBHOOKS, INVALID_DATA */
        Conflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The events behind the id are gone: follow without it, and read the state anew. EVENTS_GONE */
        Gone: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body came too slowly, and nothing of it was accepted: after ten seconds it has to come with 64 KiB a second. TOO_SLOW */
        TooSlow: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is larger than is taken. TOO_LARGE */
        TooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is of another kind. BAD_REQUEST */
        UnsupportedMedia: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Some fields are not as they have to be; errors names every one. INVALID_DATA, UNKNOWN_TYPE */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too much at once. RATE_LIMITED, TOO_MANY_WAITING */
        TooMany: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A fault of the service. STORE_UNAVAILABLE */
        Failed: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The store does not answer: it is not known whether it was done. With the same uid, asking again is harmless. STORE_UNAVAILABLE. For a post also: as many transactions are waiting in all as may wait. TOO_MANY_WAITING */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The store has no memory for new transactions. STORE_FULL */
        Full: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The transaction. */
        Transaction: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Transaction"];
            };
        };
        /** @description The queue. */
        Queue: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Queue"];
            };
        };
        /** @description The endpoint. */
        Webhook: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Webhook"];
            };
        };
        /** @description The sender. */
        Sender: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Sender"];
            };
        };
        /** @description The prover as it is now. */
        Prover: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Prover"];
            };
        };
    };
    parameters: {
        /**
         * @description The transaction's uid.
         * @example vote-17
         */
        uid: components["schemas"]["Uid"];
        /**
         * @description The queue's name.
         * @example plan-p1
         */
        queueName: components["schemas"]["QueueName"];
        /**
         * @description The prover's id.
         * @example 10.0.1.1:3000
         */
        proverId: components["schemas"]["ProverId"];
        /**
         * @description The sender's account.
         * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
         */
        accountId: components["schemas"]["SenderId"];
        /**
         * @description The endpoint's id.
         * @example billing
         */
        webhookId: components["schemas"]["WebhookId"];
        /** @description The most items of a page. A page may be shorter and still not be the last. */
        limit: number;
        /** @description Only tell what would be done, as dryRun in the body does. */
        dryRun: "" | "true" | "false";
        /** @description nextCursor of the page before, with the same filters. */
        cursor: string;
        /** @description The same as uid in the body. Both given and different: 422. */
        idempotencyKey: string;
        /** @description The id of the last event that was seen. Without it the stream begins now. */
        lastEventId: string;
    };
    requestBodies: never;
    headers: {
        /** @description Seconds after which asking again makes sense. */
        RetryAfter: number;
        /** @description Where it can be read. */
        Location: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getFees: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The fees as they are known now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fees"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getOverview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The numbers of one instant. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getHistory: {
        parameters: {
            query?: {
                /** @description In parts of a minute, a quarter of an hour, or two hours. */
                over?: "hour" | "day" | "week";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its parts, in order of time; those in which no process ran are left out. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By key or session, or a stranger. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["Failed"];
        };
    };
    openSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Logged in. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
        };
    };
    closeSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cookie is taken back. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
        };
    };
    listProvers: {
        parameters: {
            query?: {
                /** @description Only those that make this type. */
                type?: string;
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
                /** @description nextCursor of the page before, with the same filters. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProverPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    addProver: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewProver"];
            };
        };
        responses: {
            /** @description It was registered with this address before. */
            200: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prover"];
                };
            };
            /** @description It is registered. */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prover"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getProver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Prover"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeProver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    drainProver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Prover"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeProver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The prover's id.
                 * @example 10.0.1.1:3000
                 */
                id: components["parameters"]["proverId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Prover"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listQueues: {
        parameters: {
            query?: {
                /** @description Only those whose names begin so. */
                prefix?: string;
                /** @description Only those in this state. Those with a sender come in the order in which what runs was posted. */
                state?: components["schemas"]["QueueState"];
                /** @description true: only those in which something waits or is under way (WAITING, DISPATCHING, REVISION or RETRY), in the order in which the cycle takes them: those under way first, then by how long they have been ready for a sender, and those that cannot have one now by when they last were looked at. Between those who post, the turn goes round: explain tells how many come before. */
                active?: "true" | "false";
                /** @description true: only those that are paused, by name. */
                paused?: "true" | "false";
                /** @description oldest: only active ones, those first in which what is under way, or next, was posted first. Not beside paused. */
                order?: "oldest";
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
                /** @description nextCursor of the page before, with the same filters. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Queue"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseQueues: {
        parameters: {
            query?: {
                /** @description Only tell what would be done, as dryRun in the body does. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseCommand"];
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeQueues: {
        parameters: {
            query?: {
                /** @description Only tell what would be done, as dryRun in the body does. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResumeCommand"];
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Pause"];
            };
        };
        responses: {
            200: components["responses"]["Queue"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Queue"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    widenQueue: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The queue's name.
                 * @example plan-p1
                 */
                name: components["parameters"]["queueName"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Width"];
            };
        };
        responses: {
            200: components["responses"]["Queue"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSenders: {
        parameters: {
            query?: {
                /** @description Only those in this state, which is that of the queue that they are bound to. */
                state?: components["schemas"]["QueueState"];
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
                /** @description nextCursor of the page before, with the same filters. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, by account. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SenderPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    addSender: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSender"];
            };
        };
        responses: {
            /** @description It was registered with this worker before. */
            200: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sender"];
                };
            };
            /** @description It is registered. */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sender"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Sender"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    drainSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Sender"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeSender: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The sender's account.
                 * @example B62qkYa1o6Mj6uTTjDQCob7FYZspuhkm4RRQhgJg9j4koEBWiSrTQrS
                 */
                accountId: components["parameters"]["accountId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Sender"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Only what happens in this queue. */
                queue?: components["schemas"]["QueueName"];
                /** @description Only what happens to this transaction. */
                uid?: components["schemas"]["Uid"];
                /** @description Only transactions of this type. */
                type?: components["schemas"]["TypeName"];
                /** @description Only what was done by the keys of this name. */
                actor?: string;
                /** @description Begin with the oldest event that is kept, and not with what happens from now on; Last-Event-ID comes before it. */
                from?: "oldest";
            };
            header?: {
                /** @description The id of the last event that was seen. Without it the stream begins now. */
                "Last-Event-ID"?: components["parameters"]["lastEventId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-Sent Events without end, one per change. event is transaction, queue or sender, id is that of the data. A comment comes every 15 seconds at least, and, from the oldest on, one that says level when all that there was has come; an id without an event moves the client on. When the server closes the stream, come again with the last id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example id: 1790000000000-4712
                     *     event: transaction
                     *     data: {"id":"1790000000000-4712","at":"2026-03-01T12:00:05.000Z","uid":"vote-17","queue":"plan-p1","type":"COMMIT_ALL_VOTING_BATCHES","sender":null,"from":"RETRY","to":"FAILED","attempt":3,"code":null,"actor":null}
                     */
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: {
                /** @description Ask also whether chain, senders and ledgers are ready; not if it is false. */
                full?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes transactions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            400: components["responses"]["BadRequest"];
            500: components["responses"]["Failed"];
            /** @description It does not, or the process ends and others are to be asked. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description In the text format of Prometheus, or in the one that was asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                    "application/openmetrics-text": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            /** @description The figures cannot be gathered. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many ask at a time, or it takes too long. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDescription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An OpenAPI 3.1 document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        openapi: "3.1.0";
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getCodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getReference: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listTransactions: {
        parameters: {
            query?: {
                /** @description Only of this queue. */
                queue?: components["schemas"]["QueueName"];
                /** @description Only in this state. */
                state?: components["schemas"]["State"];
                /** @description Only of this type. */
                type?: components["schemas"]["TypeName"];
                /** @description Only those that this sender is or was last bound to. */
                sender?: components["schemas"]["SenderId"];
                /** @description Only those that ended with this code of an error, or last failed with it. */
                error?: string;
                /** @description Only those of which an attempt has this hash. They are looked for one by one: order=newest finds what is recent first. */
                hash?: string;
                /** @description Only those of which an attempt touches an account: a public key, for its accounts of all tokens, or that, a colon and the id of a token. They are looked for one by one, as those with a hash. */
                zkApp?: string;
                /** @description Only those received from this time on. */
                since?: string;
                /** @description Only those received before this time. */
                until?: string;
                /** @description Which come first. */
                order?: "oldest" | "newest";
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
                /** @description nextCursor of the page before, with the same filters. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, in order of acceptance, or the other way round. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TransactionPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    postTransaction: {
        parameters: {
            query?: {
                /** @description Nothing is stored: all that accepting checks is checked and answered as ever, or else with a Trial, which tells also what the transaction would do where a worker simulates its type. It counts as a post where rates are limited. */
                dryRun?: "" | "true" | "false";
            };
            header?: {
                /** @description The same as uid in the body. Both given and different: 422. */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTransaction"];
            };
        };
        responses: {
            /** @description It had been accepted before, under the same uid and with the same queue, type, data and terms. With dryRun: what would be answered. */
            200: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transaction"] | components["schemas"]["Trial"];
                };
            };
            /** @description It is stored, and will be seen to. */
            202: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transaction"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
            507: components["responses"]["Full"];
        };
    };
    postBatch: {
        parameters: {
            query?: {
                /** @description Nothing is stored: all that accepting checks is checked, and each item is answered as if those before it were accepted. Nothing is simulated. Each item counts as a post where rates are limited. */
                dryRun?: "" | "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTransaction"][];
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description One line for each item, in order. What stands behind an item of the same queue that found no room, or whose queue is damaged, is refused like it; after any other failure of the store nothing more is tried. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelTransactions: {
        parameters: {
            query?: {
                /** @description Only tell what would be done, as dryRun in the body does. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkCommand"];
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryTransactions: {
        parameters: {
            query?: {
                /** @description Only tell what would be done, as dryRun in the body does. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkCommand"];
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteTransactions: {
        parameters: {
            query?: {
                /** @description Only tell what would be done, as dryRun in the body does. */
                dryRun?: components["parameters"]["dryRun"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkCommand"];
            };
        };
        responses: {
            /** @description What was done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["TooSlow"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getTransaction: {
        parameters: {
            query?: {
                /** @description How long to wait for its final state, at most 1m. Answers early when it is final. */
                wait?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Transaction"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed. Its uid stays taken for SEQUENCER_RETENTION. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    explainTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where it stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLedgerBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerBatch"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Transaction"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Transaction"];
            /** @description An attempt may still land; no further one is made. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Transaction"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    resolveTransaction: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The transaction's uid.
                 * @example vote-17
                 */
                uid: components["parameters"]["uid"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Resolution"];
            };
        };
        responses: {
            200: components["responses"]["Transaction"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    addWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description It is told what happens from now on. Its secret is shown here, and never again. */
            201: {
                headers: {
                    Location: components["headers"]["Location"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Webhook"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    removeWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is removed, with all that was parked of it. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    editWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookEdit"];
            };
        };
        responses: {
            200: components["responses"]["Webhook"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    enableWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Webhook"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    disableWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Webhook"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    pingWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What came of it, also where the endpoint did not take it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewSecret"];
            };
        };
        responses: {
            /** @description For a day what is sent is signed with both. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Replay"];
            };
        };
        responses: {
            200: components["responses"]["Webhook"];
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["TooSlow"];
            410: components["responses"]["Gone"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["UnsupportedMedia"];
            422: components["responses"]["Invalid"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The latest first, 200 at most. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    listParkedEvents: {
        parameters: {
            query?: {
                /** @description The most items of a page. A page may be shorter and still not be the last. */
                limit?: components["parameters"]["limit"];
                /** @description nextCursor of the page before, with the same filters. */
                cursor?: components["parameters"]["cursor"];
            };
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By when it is tried. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkedPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    discardParkedEvents: {
        parameters: {
            query?: {
                /** @description One lane as it is listed; without it all of them. */
                lane?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The endpoint's id.
                 * @example billing
                 */
                id: components["parameters"]["webhookId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is forgotten. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooMany"];
            500: components["responses"]["Failed"];
            503: components["responses"]["Unavailable"];
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookEvent"];
            };
        };
        responses: {
            /** @description No more are wanted. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It is asked to be slower. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description It is taken. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
