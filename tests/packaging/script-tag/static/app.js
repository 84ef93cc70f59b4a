payment.show(payment.pay({ openQueue: intento.openQueue, generic: intento.contracts.generic, api: payment.apiOf(location) }));
