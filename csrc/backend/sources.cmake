bactrian_component(backend DEPENDS base)
